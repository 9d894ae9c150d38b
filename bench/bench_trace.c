// SPDX-License-Identifier: MIT

/**
 * What the trace file costs: CPU time of checkpoints, of the finished file and of opening it, for a
 * made-up recording of the size of a compiler's; and per event with --events.
 *
 *   bench_trace [NODES STACKS INTERVALS [FILE ...]]   FILE: rows of struct trace_event, as in memory
 */

#include "../tests/unit/trace_samples.h"

#include <inttypes.h>
#include <time.h>

enum { BATCH = 4096, ROUNDS = 5 };

static double cpu_ms(void) {
	struct timespec t;
	(void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec * 1e3 + (double)t.tv_nsec * 1e-6;
}

static void must(bool ok, const struct err *err) {
	if (!ok) {
		fprintf(stderr, "bench_trace: %s\n", err->text);
		exit(1);
	}
}

/** Blocks of a stack have the same size, and its intervals come in order: as in real recordings. */
static void measure_states(const struct sample_size *size) {
	struct recording r;
	sample_recording_make(&r, 1, 1, size);
	struct sample_file growing = {0};
	struct sample_file finished = {0};
	struct err err = {0};
	struct trace_writer *w = trace_writer_create(sample_file_sink(&growing), 0, &err);
	must(w, &err);
	double start = cpu_ms();
	must(trace_writer_checkpoint(w, &r, &err), &err);
	double first = cpu_ms() - start;
	double next = 1e9;
	double whole = 1e9;
	double open = 1e9;
	for (int i = 0; i < ROUNDS; i++) {
		start = cpu_ms();
		must(trace_writer_checkpoint(w, &r, &err), &err);
		double ms = cpu_ms() - start;
		next = ms < next ? ms : next;

		buffer_clear(&finished.bytes);
		start = cpu_ms();
		must(trace_write_whole(sample_file_sink(&finished), &r, w, NULL, &err), &err);
		ms = cpu_ms() - start;
		whole = ms < whole ? ms : whole;

		struct trace_source src = sample_file_source(&finished);
		struct recording got = {0};
		start = cpu_ms();
		must(trace_read(&got, NULL, &src, 0, &err), &err);
		ms = cpu_ms() - start;
		open = ms < open ? ms : open;
		recording_finish(&got);
	}
	printf("%u nodes, %u stacks, %u intervals: first checkpoint %.0f ms, each further %.0f ms, "
		   "finished file %.0f ms and %.2f MB, opened and checked in %.0f ms\n",
			r.nodes.n, r.stacks.n, r.intervals.n, first, next, whole,
			(double)finished.bytes.size / 1e6, open);
	trace_writer_destroy(w);
	buffer_finish(&growing.bytes);
	buffer_finish(&finished.bytes);
	recording_finish(&r);
}

static bool count_events(void *user, const struct trace_event *events, size_t n) {
	*(uint64_t *)user += n;
	return events != NULL;
}

static void measure_events(const char *name, const struct trace_event *events, size_t n) {
	double write = 1e12;
	double read = 1e12;
	size_t bytes = 0;
	for (int i = 0; i < ROUNDS; i++) {
		struct sample_file file = {0};
		struct err err = {0};
		struct trace_writer *w = trace_writer_create(sample_file_sink(&file), 0, &err);
		must(w && buffer_room(&file.bytes, n * 4), &err);
		double start = cpu_ms();
		for (size_t at = 0; at < n; at += BATCH) {
			must(trace_writer_events(w, events + at, n - at < BATCH ? n - at : BATCH, &err), &err);
		}
		double ms = cpu_ms() - start;
		write = ms < write ? ms : write;
		struct trace_source src = sample_file_source(&file);
		uint64_t got = 0;
		start = cpu_ms();
		must(trace_read_events(&src, NULL, count_events, &got, &err), &err);
		ms = cpu_ms() - start;
		read = ms < read ? ms : read;
		bytes = file.bytes.size;
		trace_writer_destroy(w);
		buffer_finish(&file.bytes);
	}
	printf("%s: %zu events, %.2f bytes, written in %.1f ns and read in %.1f ns per event\n", name,
			n, (double)bytes / (double)n, write * 1e6 / (double)n, read * 1e6 / (double)n);
}

static void measure_file(const char *path) {
	FILE *f = fopen(path, "rb");
	size_t n = 0;
	struct trace_event *events = NULL;
	if (f && fseeko(f, 0, SEEK_END) == 0) {
		n = (size_t)ftello(f) / sizeof *events;
		events = malloc(n * sizeof *events + 1);
		rewind(f);
	}
	if (!events || fread(events, sizeof *events, n, f) != n) {
		fprintf(stderr, "bench_trace: cannot read %s\n", path);
		exit(1);
	}
	(void)fclose(f);
	measure_events(path, events, n);
	free(events);
}

int main(int argc, char **argv) {
	struct sample_size size = {809000, 90000, 135000, 600, 572000};
	if (argc > 3) {
		size.nodes = (uint32_t)atol(argv[1]);
		size.stacks = (uint32_t)atol(argv[2]);
		size.blocks = (uint32_t)atol(argv[3]);
	}
	measure_states(&size);
	for (int i = 4; i < argc; i++) {
		measure_file(argv[i]);
	}
	return 0;
}
