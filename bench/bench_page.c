// SPDX-License-Identifier: MIT

/**
 * A page of a made-up recording as large as asked for, to measure how the page does with it
 * (bench/page.mjs), and what making it costs:
 *
 *   bench_page NODES OUT.html [OUT.zst]
 *
 * OUT.zst is the recording itself, which bench/viewer opens.
 *
 * 29 % of the nodes are stacks, with 23 intervals each over 1000 edges below half a million nodes and
 * 21 above: 2 million for 300,000 nodes and 6 million for 1,000,000. 50,000 functions at most; stacks
 * are at most 69 deep. All figures agree with each other as in a real recording.
 */

#include "base/err.h"
#include "trace/trace.h"
#include "web/page.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { N_EDGES = 1000, DEPTH_MAX = 69, N_MODULES = 12, MS = 1000000 };

static uint64_t seed = 42;

static uint32_t below(uint32_t n) {
	seed += 0x9e3779b97f4a7c15u;
	uint64_t z = (seed ^ (seed >> 30)) * 0xbf58476d1ce4e5b9u;
	return (uint32_t)((z ^ (z >> 27)) * 0x94d049bb133111ebu >> 32) % n;
}

#define ROWS(r, table, count) \
	((r)->table.n = (count),  \
			(r)->table.items = arena_alloc(&(r)->arena, (count), sizeof *(r)->table.items))

static struct slice text(struct recording *r, const char *format, uint32_t a, uint32_t b) {
	char buf[96];
	// The formats are below, with two numbers each
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
	int n = snprintf(buf, sizeof buf, format, a, b);
#pragma GCC diagnostic pop
	return slice_of(arena_text(&r->arena, slice_of(buf, (size_t)n)), (size_t)n);
}

static void make_names(struct recording *r, uint32_t n_functions) {
	ROWS(r, strings, n_functions + N_MODULES + 500);
	ROWS(r, modules, N_MODULES);
	ROWS(r, locations, n_functions);
	ROWS(r, frames, n_functions);
	ROWS(r, threads, 2);
	for (uint32_t i = 1; i < n_functions; i++) {
		r->strings.items[i] = text(r, "engine_%u::Component_%u::update(int, char const*)", i % 97,
				i);
	}
	for (uint32_t i = 0; i < N_MODULES; i++) {
		r->strings.items[n_functions + i] = text(r,
				i % 2 ? "/home/me/build/app%u%u" : "/usr/lib/lib%u%u.so", i, 1);
		r->modules.items[i].path = i ? n_functions + i : 0;
		r->modules.items[i].image = i > 0;
	}
	for (uint32_t i = 0; i < 500; i++) {
		r->strings.items[n_functions + N_MODULES + i] = text(r, "/home/me/src/part%u/file%u.cpp",
				i % 20, i);
	}
	for (uint32_t i = 1; i < n_functions; i++) {
		uint32_t module = 1 + i % (N_MODULES - 1);
		bool is_yours = module % 2;
		r->frames.items[i].function = i;
		r->frames.items[i].file = is_yours ? n_functions + N_MODULES + i % 500 : 0;
		r->frames.items[i].line = is_yours ? i % 800 + 1 : 0;
		r->locations.items[i] = (struct rec_location){i, module, i, 1, 0, 0};
	}
	r->meta.exe = n_functions + 1;
}

static void make_nodes(struct recording *r, uint32_t n, uint32_t n_functions) {
	ROWS(r, nodes, n);
	uint8_t *depths = calloc(n, 1);
	for (uint32_t i = 1; depths && i < n; i++) {
		uint32_t parent;
		do {
			parent = i < 3 || below(200) == 0 ? below(i) : i - 1 - below(i < 4000 ? i : 4000);
		} while (depths[parent] >= DEPTH_MAX);
		depths[i] = (uint8_t)(depths[parent] + 1);
		r->nodes.items[i] = (struct rec_node){parent, 1 + below(n_functions - 1)};
	}
	free(depths);
}

static void make_interval(struct rec_interval *v, uint32_t stack) {
	uint32_t from = below(N_EDGES), life = 1 + below(1 + below(300));
	v->stack = stack;
	v->from = (uint16_t)from;
	v->until = from + life >= N_EDGES || below(40) == 0 ? REC_NEVER : (uint16_t)(from + life);
	v->count = 1 + (below(4) == 0 ? below(1 + below(60)) : 0); // most come one by one
	v->temporary = v->until == REC_NEVER || stack % 5 ? 0 : below(v->count + 1);
	v->bytes = (uint64_t)v->count * (16 + 8 * (stack % 64));
}

static void make_stacks(struct recording *r, uint32_t n, uint32_t n_intervals) {
	ROWS(r, stacks, n);
	ROWS(r, intervals, n * n_intervals);
	ROWS(r, sizes, n);
	for (uint32_t i = 0; i < n; i++) {
		struct rec_stack *s = &r->stacks.items[i];
		s->node = 1 + (uint32_t)((uint64_t)i * (r->nodes.n - 1) / n);
		for (uint32_t k = 0; k < n_intervals; k++) {
			struct rec_interval v = {0};
			make_interval(&v, i);
			check(recording_set_interval(r, i * n_intervals + k, &v));
			bool lives = v.until == REC_NEVER;
			s->allocations += v.count;
			s->allocated_bytes += v.bytes;
			s->temporary += v.temporary;
			s->live_blocks += lives ? v.count : 0;
			s->live_bytes += lives ? v.bytes : 0;
		}
		s->last_ns = (uint64_t)N_EDGES * MS;
		r->sizes.items[i] = (struct rec_size){i, 0, 16 + 8 * (i % 64), s->allocations,
				s->allocated_bytes, s->live_blocks};
		r->summary.allocations += s->allocations;
		r->summary.allocated_bytes += s->allocated_bytes;
		r->summary.temporary += s->temporary;
		r->summary.live_blocks += s->live_blocks;
		r->summary.live_bytes += s->live_bytes;
	}
}

/** The curve that the intervals make, its peak, and what each stack held then. */
static void make_edges(struct recording *r) {
	struct rec_edge change[N_EDGES + 1] = {0}, now = {0}; // modulo 2^64
	for (uint32_t i = 0; i < r->intervals.n; i++) {
		const struct rec_interval v = recording_interval(r, i);
		struct rec_edge *begin = &change[v.from];
		struct rec_edge *end = &change[v.until < N_EDGES ? v.until : N_EDGES];
		begin->bytes += v.bytes;
		begin->blocks += v.count;
		begin->allocations += v.count;
		begin->allocated_bytes += v.bytes;
		begin->temporary += v.temporary;
		end->bytes -= v.bytes;
		end->blocks -= v.count;
	}
	ROWS(r, edges, N_EDGES);
	uint32_t peak = 0;
	for (uint32_t k = 0; k < N_EDGES; k++) {
		now.time_ns = now.end_ns = (uint64_t)(k + 1) * MS;
		now.min_bytes = now.bytes += change[k].bytes;
		now.blocks += change[k].blocks;
		now.allocations += change[k].allocations;
		now.allocated_bytes += change[k].allocated_bytes;
		now.temporary += change[k].temporary;
		r->edges.items[k] = now;
		peak = now.bytes > r->edges.items[peak].bytes ? k : peak;
	}
	for (uint32_t i = 0; i < r->intervals.n; i++) {
		const struct rec_interval v = recording_interval(r, i);
		if (v.from <= peak && v.until > peak) {
			r->stacks.items[v.stack].peak_bytes += v.bytes;
			r->stacks.items[v.stack].peak_blocks += v.count;
			r->summary.peak_blocks += v.count;
		}
	}
	r->summary.frees = r->summary.allocations - r->summary.live_blocks;
	r->summary.peak_bytes = r->edges.items[peak].bytes;
	r->summary.peak_time_ns = r->edges.items[peak].time_ns;
	r->meta.duration_ns = (uint64_t)(N_EDGES + 1) * MS;
	r->meta.is_complete = 1;
	r->meta.ended = REC_EXITED;
}

static double now_s(void) {
	struct timespec t;
	(void)clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static bool write_at(void *user, uint64_t offset, const void *data, size_t n, struct err *err) {
	FILE *out = user;
	return (fseeko(out, (off_t)offset, SEEK_SET) == 0 && fwrite(data, 1, n, out) == n) ||
			err_set(err, ERR_SYSTEM, "cannot write");
}

static bool write_recording(const char *path, const struct recording *r, struct err *err) {
	FILE *out = fopen(path, "wb");
	bool ok = out && trace_write_whole((struct trace_sink){write_at, out}, r, NULL, NULL, err);
	return (!out || fclose(out) == 0) && ok;
}

int main(int argc, char **argv) {
	uint32_t n_nodes = argc == 3 || argc == 4 ? (uint32_t)strtoul(argv[1], NULL, 10) : 0;
	if (n_nodes < 100) {
		(void)fputs("usage: bench_page NODES OUT.html [OUT.zst]\n", stderr);
		return EXIT_FAILURE;
	}
	uint32_t n_functions = n_nodes / 6 < 50000 ? n_nodes / 6 : 50000;
	struct recording r = {0};
	make_names(&r, n_functions);
	make_nodes(&r, n_nodes, n_functions);
	make_stacks(&r, (uint32_t)((uint64_t)n_nodes * 29 / 100), n_nodes < 500000 ? 23 : 21);
	make_edges(&r);
	struct err err = {0};
	struct names *names = names_create(&r, NULL);
	struct buffer page = {0};
	struct page_options options = {0};
	double start = now_s();
	bool ok = names && page_whole(&page, &r, names, &options, &err);
	FILE *out = ok ? fopen(argv[2], "wb") : NULL;
	ok = ok && out && fwrite(page.data, 1, page.size, out) == page.size;
	ok = (!out || fclose(out) == 0) && ok;
	ok = ok && (argc < 4 || write_recording(argv[3], &r, &err));
	if (!ok) {
		(void)fprintf(stderr, "bench_page: %s\n", err.text);
		return EXIT_FAILURE;
	}
	(void)printf("{\"nodes\": %u, \"intervals\": %u, \"html_bytes\": %zu, \"made_in_s\": %.2f}\n",
			n_nodes, r.intervals.n, page.size, now_s() - start);
	buffer_finish(&page);
	names_destroy(names);
	recording_finish(&r);
	return EXIT_SUCCESS;
}
