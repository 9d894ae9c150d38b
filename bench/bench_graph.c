// SPDX-License-Identifier: MIT

/**
 * How fast memory is read for what points to blocks: blocks of 200 bytes behind each other, of
 * which one word in `apart` points to another block, to any or to one nearby. CPU time of all
 * threads, the best and the median of several rounds, and how much of it is one core's in a
 * second.
 *
 *   bench_graph [MB [APART [ROUNDS]]]     300 4 7
 * BENCH_GRAPH_ALL=1: also all that --leaks does with them
 */

#include "engine/graph/parts.h"
#include "rounds.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

enum { BLOCK_BYTES = 208, ROUNDS_MOST = 100, NEARBY = 1000, WORDS = 25 };

static uint64_t any(uint64_t *state) { // xorshift
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return *state;
}

/** Each block points to the next one, so that all are held, and to others. */
static void fill(char *memory, uint64_t n, uint64_t apart, bool is_nearby) {
	uint64_t state = 88172645463325252u;
	for (uint64_t i = 0; i < n; i++) {
		char **words = (char **)(void *)(memory + i * BLOCK_BYTES);
		words[0] = memory + (i + 1 < n ? i + 1 : 0) * BLOCK_BYTES;
		for (uint64_t k = 1; k < WORDS; k++) {
			uint64_t to = is_nearby ? i + any(&state) % NEARBY : any(&state);
			words[k] = k % apart == 0 ? memory + to % n * BLOCK_BYTES : (char *)(k << 20);
		}
	}
}

static void add_blocks(struct aggregate *a, uint64_t start, uint64_t n) {
	(void)aggregate_thread(a, 1, 1, 0);
	for (uint64_t i = 0; i < n; i++) {
		const struct trace_event e = {.kind = TRACE_ALLOC,
				.ptr = start + i * BLOCK_BYTES,
				.size = WORDS * sizeof(char *),
				.thread = 1,
				.time_ns = i,
				.node = 1 + (uint32_t)(i % 20)};
		aggregate_events(a, &e, 1);
	}
}

static bool read_memory(void *user, uint64_t at, void *out, size_t bytes) {
	return pread(*(int *)user, out, bytes, (off_t)at) == (ssize_t)bytes;
}

/** Of which block each pointer is; all that `--leaks` does with them besides. */
static bool step(struct graph_input *in, bool is_whole) {
	struct marking m = {.in = in};
	struct graph graph = {0};
	bool ok = is_whole ? graph_grade(in, &graph, NULL) : edges_read(&m);
	if (!is_whole) {
		edges_finish(&m);
	}
	graph_finish(&graph);
	return ok;
}

static bool measure(struct graph_input *in, uint64_t bytes, uint64_t rounds, const char *name) {
	static const char *const steps[] = {"pointers", "all"};
	bool ok = true;
	for (int k = 0; k < 1 + (getenv("BENCH_GRAPH_ALL") != NULL); k++) {
		double ms[ROUNDS_MOST];
		for (uint64_t i = 0; i < rounds && ok; i++) {
			const double before = cpu_ms();
			ok = step(in, k);
			ms[i] = cpu_ms() - before;
		}
		qsort(ms, rounds, sizeof *ms, by_size);
		printf("%-8s %-8s %6.0f ms, median %6.0f, %.2f GB/s\n", name, steps[k], ms[0],
				ms[rounds / 2], (double)bytes / 1e6 / ms[rounds / 2]);
	}
	return ok;
}

int main(int argc, char **argv) {
	const uint64_t n = argument(argc, argv, 1, 300) * 1000 * 1000 / BLOCK_BYTES;
	const uint64_t apart = argument(argc, argv, 2, 4), bytes = n * BLOCK_BYTES;
	uint64_t rounds = argument(argc, argv, 3, 7);
	rounds = rounds == 0 ? 1 : rounds < ROUNDS_MOST ? rounds : ROUNDS_MOST;
	int memory = open("/proc/self/mem", O_RDONLY | O_CLOEXEC);
	char *at = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct aggregate *a = aggregate_create(NULL);
	struct smaps areas = {0};
	struct pagemap pages = {0};
	if (at == MAP_FAILED || memory < 0) {
		return 1;
	}
	add_blocks(a, (uintptr_t)at, n);
	(void)madvise(at, bytes, MADV_NOHUGEPAGE);
	bool ok = true;
	for (int is_nearby = 0; is_nearby < 2 && ok; is_nearby++) {
		fill(at, n, apart, is_nearby);
		ok = smaps_read(&areas, getpid(), "smaps") && pagemap_look(&pages, getpid(), &areas, true);
		const struct parts_input parts = {.page_bytes = (uint64_t)sysconf(_SC_PAGESIZE),
				.areas = &areas,
				.pages = &pages,
				.blocks = a,
				.knows_all_blocks = true};
		struct graph_thread thread = {.words = {(uintptr_t)at}};
		struct graph_input in = {.parts = &parts,
				.threads = &thread,
				.n_threads = 1,
				.read = read_memory,
				.user = &memory};
		ok = ok && measure(&in, bytes, rounds, is_nearby ? "nearby" : "anywhere");
		vec_finish(&pages);
		pages = (struct pagemap){0};
		smaps_finish(&areas);
		areas = (struct smaps){0};
	}
	aggregate_destroy(a);
	return !ok;
}
