// SPDX-License-Identifier: MIT

/**
 * Ask for the names of addresses of one module, and say what it cost.
 *
 *   bench_symbols [OPTION...] FILE < ADDRESSES      one hexadecimal file address per line
 *
 *   --print            print the answers: per address its frames, innermost first, and an empty line
 *   --returns          the addresses are return addresses
 *   --build-id HEX     the file must have this build-id
 *   --fd               give the open file, not its path alone
 *   --sysroot D, --debug-path D, --extra-path D
 *   --repeat N         ask N times, with the same `struct symbols`
 */

#include "base/vec.h"
#include "symbols/symbols.h"

#include <fcntl.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

struct request {
	struct symbols_options options;
	struct symbols_module module;
	const char *debug_paths[8], *extra_paths[8];
	uint8_t build_id[64];
	bool print, returns, use_fd;
	long repeat;
	struct {
		uint64_t *items;
		size_t n, capacity;
	} addresses;
};

static double seconds(clockid_t clock) {
	struct timespec t;
	clock_gettime(clock, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void parse_build_id(struct request *r, const char *hex) {
	size_t n = 0;
	unsigned byte;
	while (n < sizeof r->build_id && sscanf(hex + 2 * n, "%2x", &byte) == 1) {
		r->build_id[n++] = (uint8_t)byte;
		if (!hex[2 * n]) {
			break;
		}
	}
	r->module.build_id = slice_of(r->build_id, n);
}

static bool parse(struct request *r, int argc, char **argv) {
	static const struct option options[] = {
			{"print", no_argument, NULL, 'p'},
			{"returns", no_argument, NULL, 'r'},
			{"fd", no_argument, NULL, 'f'},
			{"build-id", required_argument, NULL, 'b'},
			{"sysroot", required_argument, NULL, 's'},
			{"debug-path", required_argument, NULL, 'D'},
			{"extra-path", required_argument, NULL, 'E'},
			{"repeat", required_argument, NULL, 'R'},
			{0},
	};
	size_t n_debug = 0, n_extra = 0;
	for (int c; (c = getopt_long(argc, argv, "", options, NULL)) != -1;) {
		switch (c) {
		case 'p': r->print = true; break;
		case 'r': r->returns = true; break;
		case 'f': r->use_fd = true; break;
		case 'b': parse_build_id(r, optarg); break;
		case 's': r->options.sysroot = optarg; break;
		case 'D': r->debug_paths[n_debug < 7 ? n_debug++ : 6] = optarg; break;
		case 'E': r->extra_paths[n_extra < 7 ? n_extra++ : 6] = optarg; break;
		case 'R': r->repeat = atol(optarg); break;
		default: return false;
		}
	}
	r->options.debug_paths = r->debug_paths;
	r->options.extra_paths = r->extra_paths;
	r->module.path = argv[optind];
	r->module.fd = r->use_fd && r->module.path ? open(r->module.path, O_RDONLY) : -1;
	return r->module.path != NULL;
}

static int compare(const void *left, const void *right) {
	const uint64_t *a = left, *b = right;
	return *a < *b ? -1 : *a > *b;
}

static bool read_addresses(struct request *r) {
	uint64_t address;
	while (scanf("%" SCNx64, &address) == 1) {
		if (!vec_reserve(&r->addresses, 1)) {
			return false;
		}
		r->addresses.items[r->addresses.n++] = address;
	}
	if (r->addresses.n == 0) {
		return false;
	}
	qsort(r->addresses.items, r->addresses.n, sizeof address, compare);
	size_t n = 1;
	for (size_t i = 1; i < r->addresses.n; i++) {
		if (r->addresses.items[i] != r->addresses.items[n - 1]) {
			r->addresses.items[n++] = r->addresses.items[i];
		}
	}
	r->addresses.n = n;
	return true;
}

static void print_answers(const struct request *r, const struct symbols_answer *answers) {
	for (size_t i = 0; i < r->addresses.n; i++) {
		printf("0x%" PRIx64 "\n", r->addresses.items[i]);
		for (uint32_t k = 0; k < answers[i].n_frames; k++) {
			const struct symbols_frame *f = &answers[i].frames[k];
			printf("%s\t%s\t%s\t%" PRIu32 "\n", f->function ? f->function : "??",
					f->symbol ? f->symbol : "??", f->file ? f->file : "??", f->line);
		}
		printf("\n");
	}
}

/** Of this program alone: what getrusage says starts with that of the process before its exec. */
static double peak_rss_mb(void) {
	char line[256];
	long kb = 0;
	FILE *status = fopen("/proc/self/status", "r");
	while (status && fgets(line, sizeof line, status) && sscanf(line, "VmHWM: %ld", &kb) != 1) {}
	if (status) {
		fclose(status);
	}
	return (double)kb / 1024;
}

static void print_cost(const struct request *r, const struct symbols_answer *answers,
		const struct symbols_facts *facts, double wall, double cpu, size_t answer_bytes) {
	size_t n_named = 0, n_lined = 0, n_frames = 0;
	for (size_t i = 0; i < r->addresses.n; i++) {
		n_frames += answers[i].n_frames;
		n_named += answers[i].n_frames && answers[i].frames[0].function;
		n_lined += answers[i].n_frames && answers[i].frames[0].line;
	}
	fprintf(stderr,
			"addresses %zu named %zu lines %zu frames %zu wall_ms %.1f cpu_ms %.1f "
			"peak_rss_mb %.1f answers_kb %zu symbols %d debug %d unresolved %d\n",
			r->addresses.n, n_named, n_lined, n_frames, wall * 1e3, cpu * 1e3, peak_rss_mb(),
			answer_bytes >> 10, facts->has_symbols, facts->has_lines, facts->is_unresolved);
}

int main(int argc, char **argv) {
	struct request r = {.repeat = 1, .module.fd = -1};
	if (!parse(&r, argc, argv) || !read_addresses(&r)) {
		fprintf(stderr, "usage: bench_symbols [OPTION...] FILE < ADDRESSES\n");
		return 2;
	}
	struct symbols *s = symbols_create(&r.options);
	size_t n = r.addresses.n;
	struct symbols_wanted *wanted = calloc(n, sizeof *wanted);
	struct symbols_answer *answers = calloc(n, sizeof *answers);
	bool ok = wanted && answers;
	for (size_t i = 0; ok && i < n; i++) {
		wanted[i] = (struct symbols_wanted){r.addresses.items[i], 0, !r.returns};
	}
	for (long k = 0; ok && k < r.repeat; k++) {
		struct arena arena = {0};
		struct symbols_facts facts;
		double wall = seconds(CLOCK_MONOTONIC), cpu = seconds(CLOCK_PROCESS_CPUTIME_ID);
		symbols_resolve(s, &r.module, wanted, n, answers, &facts, &arena);
		wall = seconds(CLOCK_MONOTONIC) - wall;
		cpu = seconds(CLOCK_PROCESS_CPUTIME_ID) - cpu;
		print_cost(&r, answers, &facts, wall, cpu, arena.bytes);
		if (r.print && k == 0) {
			print_answers(&r, answers);
		}
		arena_finish(&arena);
	}
	if (!ok) {
		fprintf(stderr, "out of memory\n");
	}
	symbols_destroy(s);
	free(answers);
	free(wanted);
	vec_finish(&r.addresses);
	return !ok;
}
