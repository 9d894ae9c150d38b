// SPDX-License-Identifier: MIT

/**
 * What a look costs its reader: CPU time, the best and the median of several rounds, of reading
 * smaps and resident pages of this process and of joining them with live blocks.
 *
 *   bench_parts [MB [BLOCKS [MAPPINGS [THREADS [ROUNDS]]]]]     1000 300000 200 8 15
 */

#include "engine/parts.h"
#include "rounds.h"
#include "wire/event.h"

#include <inttypes.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

enum { ROUNDS_MOST = 1000, STEPS = 4 };

static void add_blocks(struct aggregate *a, uint64_t start, uint64_t bytes, uint64_t n) {
	(void)aggregate_thread(a, 1, 1, 0);
	for (uint64_t i = 0; i < n; i++) {
		const struct trace_event e = {.kind = TRACE_ALLOC,
				.ptr = (start + bytes / n * i) & -16ull,
				.size = 16 + i * 7919 % (bytes / n / 2 + 1),
				.thread = 1,
				.time_ns = i,
				.node = 1 + (uint32_t)(i % 5000)};
		aggregate_events(a, &e, 1);
	}
}

/** Half of the memory, in as many calls, in turn by an allocator and another. */
static void add_mappings(struct mappings *m, uint64_t start, uint64_t bytes, uint64_t n) {
	for (uint64_t i = 0; i < n; i++) {
		uint64_t sort = 3 | (i % 2 ? WIRE_MAP_INSIDE << 4 : 0);
		const struct trace_event e = {.kind = KIND_MAP,
				.ptr = ((start + bytes / n * i) & -4096ull) | sort,
				.size = bytes / n / 2,
				.time_ns = i,
				.node = 1 + (uint32_t)(i % 50)};
		mappings_event(m, &e);
	}
}

static bool look(const struct parts_input *made, double ms[STEPS]) {
	struct smaps areas = {0};
	struct pagemap pages = {0};
	struct parts parts = {0};
	struct parts_input in = *made;
	in.areas = &areas;
	in.pages = &pages;
	double at[STEPS] = {cpu_ms()};
	bool ok = smaps_read(&areas, getpid(), "smaps");
	at[1] = cpu_ms();
	ok = ok && pagemap_look(&pages, getpid(), &areas, true);
	at[2] = cpu_ms();
	if (ok) {
		parts_join(&in, &parts);
	}
	at[3] = cpu_ms();
	for (int i = 0; i + 1 < STEPS; i++) {
		ms[i] = at[i + 1] - at[i];
	}
	ms[STEPS - 1] = at[3] - at[0];
	parts_finish(&parts);
	vec_finish(&pages);
	smaps_finish(&areas);
	return ok;
}

int main(int argc, char **argv) {
	static const char *const names[STEPS] = {"smaps", "pages", "join", "all"};
	static double ms[STEPS][ROUNDS_MOST];
	const uint64_t bytes = argument(argc, argv, 1, 1000) * 1000 * 1000;
	const uint64_t n_threads = argument(argc, argv, 4, 8);
	uint64_t rounds = argument(argc, argv, 5, 15);
	rounds = rounds == 0 ? 1 : rounds < ROUNDS_MOST ? rounds : ROUNDS_MOST;
	char *at = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct parts_thread *threads = calloc(n_threads + 1, sizeof *threads);
	struct aggregate *a = aggregate_create(NULL);
	struct mappings *m = mappings_create((uint64_t)sysconf(_SC_PAGESIZE));
	if (at == MAP_FAILED || !threads) {
		return 1;
	}
	(void)madvise(at, bytes, MADV_NOHUGEPAGE);
	for (uint64_t i = 0; i < bytes; i += 4096) {
		((volatile char *)at)[i] = 1;
	}
	for (uint64_t i = 0; i < n_threads; i++) {
		threads[i] = (struct parts_thread){(uintptr_t)at + i * 4096, (uintptr_t)at + i * 4096 + 64,
				0};
	}
	const struct parts_input in = {.page_bytes = (uint64_t)sysconf(_SC_PAGESIZE),
			.blocks = a,
			.mappings = m,
			.threads = threads,
			.n_threads = n_threads,
			.knows_all_blocks = true};
	add_blocks(a, (uintptr_t)at, bytes, argument(argc, argv, 2, 300000));
	add_mappings(m, (uintptr_t)at, bytes, argument(argc, argv, 3, 200));
	bool ok = true;
	for (uint64_t i = 0; i < rounds && ok; i++) {
		double of[STEPS];
		ok = look(&in, of);
		for (int k = 0; k < STEPS; k++) {
			ms[k][i] = of[k];
		}
	}
	for (int k = 0; k < STEPS && ok; k++) {
		qsort(ms[k], rounds, sizeof *ms[k], by_size);
		printf("%-6s %8.2f ms, median %8.2f\n", names[k], ms[k][0], ms[k][rounds / 2]);
	}
	aggregate_destroy(a);
	mappings_destroy(m);
	free(threads);
	return !ok;
}
