// SPDX-License-Identifier: MIT

/**
 * What the aggregate costs per event, on made-up events of the shape of recorded programs. The
 * same events are digested in several rounds; of each piece of 512 the best round counts, so
 * that other programs on the machine matter little.
 *
 *   bench_aggregate [ROUNDS [FILE ...]]     FILE: rows of struct trace_event, as they lie in memory
 */

#include "engine/aggregate.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/** A program's habits. */
struct shape {
	const char *name;
	size_t n_events;
	uint32_t n_stacks;    // some are drawn much more often
	uint32_t node_stride; // between stacks' nodes: inner nodes of the tree
	uint32_t n_threads;
	uint32_t n_live;    // blocks to be reached, then kept
	unsigned temporary; // per cent of blocks freed at once
	unsigned young;   // per cent of the other frees that take one of the 64 youngest; the rest are
					  // runs of neighbours, as when a structure is torn down
	unsigned n_sizes; // of a stack
};

static const struct shape shapes[] = {
		{"tree", 8000000, 114, 3, 1, 280000, 10, 30, 8},
		{"python", 6000000, 17288, 4, 1, 370000, 10, 60, 2},
		{"node", 1500000, 10493, 5, 6, 64000, 25, 70, 2},
		{"clang", 6000000, 135218, 6, 1, 100000, 25, 85, 2},
		{"cc1plus", 4000000, 77717, 6, 1, 46000, 30, 85, 3},
		{"a million", 10000000, 1000000, 2, 4, 1000000, 0, 0, 4}, // all at random: the worst
};
enum { N_SHAPES = sizeof shapes / sizeof *shapes };

struct maker {
	uint64_t random;
	uint64_t now_ns;
	uint64_t top;        // of the made-up heap
	uint64_t *free[128]; // stacks of addresses, by size / 16
	size_t n_free[128], capacity[128];
	struct live {
		uint64_t ptr, size;
	} * live;
	size_t n_live;
	size_t n_run;   // frees to come of a structure
	uint32_t phase; // which part of the program is busy
};

static uint64_t next_random(struct maker *m) {
	m->random ^= m->random << 13;
	m->random ^= m->random >> 7;
	m->random ^= m->random << 17;
	return m->random * 0x2545f4914f6cdd1d >> 20;
}

/** Like a real allocator: the last address freed of a size comes first. */
static uint64_t take_address(struct maker *m, uint64_t size) {
	size_t class = (size + 23) / 16;
	if (class < 128 && m->n_free[class]) {
		return m->free[class][--m->n_free[class]];
	}
	uint64_t ptr = m->top;
	m->top += class * 16;
	return ptr;
}

static void give_address(struct maker *m, struct live block) {
	size_t class = (block.size + 23) / 16;
	if (class >= 128) {
		return;
	}
	if (m->n_free[class] == m->capacity[class]) {
		m->capacity[class] = m->capacity[class] * 2 + 64;
		m->free[class] = realloc(m->free[class], m->capacity[class] * sizeof(uint64_t));
		if (!m->free[class]) {
			abort();
		}
	}
	m->free[class][m->n_free[class]++] = block.ptr;
}

/** Of each of the groups 1, 2..3, 4..7 ... as often: a few stacks make most of the blocks. */
static uint32_t some_stack(struct maker *m, uint32_t n) {
	unsigned n_groups = 32 - (unsigned)__builtin_clz(n);
	uint32_t first = 1u << next_random(m) % n_groups;
	return (uint32_t)(first + next_random(m) % first - 1) % n;
}

static struct trace_event make_alloc(struct maker *m, const struct shape *s) {
	m->phase = next_random(m) % 20000 ? m->phase : (uint32_t)next_random(m) % s->n_stacks;
	uint32_t stack = (some_stack(m, s->n_stacks) + m->phase) % s->n_stacks;
	struct live block = {.size = 16 + stack % 40 * 8 + next_random(m) % s->n_sizes * 24};
	block.ptr = take_address(m, block.size);
	m->live[m->n_live++] = block;
	struct trace_event e = {.ptr = block.ptr, .size = block.size, .kind = TRACE_ALLOC};
	e.node = 1 + (uint32_t)((uint64_t)stack * 2654435761u % s->n_stacks) * s->node_stride;
	return e;
}

/** Which of the live blocks is freed next. */
static size_t some_victim(struct maker *m, const struct shape *s, bool is_temporary) {
	if (is_temporary) {
		return m->n_live - 1;
	}
	if (m->n_run == 0 && next_random(m) % 100 < s->young && m->n_live > 64) {
		return m->n_live - 1 - next_random(m) % 64;
	}
	if (s->young == 0) {
		return next_random(m) % m->n_live;
	}
	if (m->n_run == 0) {
		m->n_run = (size_t)1 << next_random(m) % (64 - (unsigned)__builtin_clzll(m->n_live));
	}
	m->n_run--;
	return m->n_live - 1;
}

static struct trace_event make_free(struct maker *m, const struct shape *s, bool is_temporary) {
	size_t at = some_victim(m, s, is_temporary);
	struct live block = m->live[at];
	m->live[at] = m->live[--m->n_live];
	give_address(m, block);
	return (struct trace_event){.ptr = block.ptr, .kind = TRACE_FREE};
}

static struct trace_event *make_events(const struct shape *s) {
	struct maker m = {.random = 88172645463325252, .top = 0x555500000000};
	struct trace_event *events = calloc(s->n_events, sizeof *events);
	m.live = calloc(s->n_live + 64, sizeof *m.live);
	if (!events || !m.live) {
		abort();
	}
	bool is_temporary = false;
	for (size_t i = 0; i < s->n_events; i++) {
		bool is_growing = m.n_live < (size_t)s->n_live * i / s->n_events + 1000;
		bool is_alloc = !is_temporary && m.n_live < s->n_live &&
				(m.n_live < 100 || next_random(&m) % 100 < (is_growing ? 60u : 50u));
		struct trace_event e = is_alloc ? make_alloc(&m, s) : make_free(&m, s, is_temporary);
		is_temporary = is_alloc && next_random(&m) % 100 < s->temporary;
		m.now_ns += 20 + next_random(&m) % 200;
		e.time_ns = m.now_ns;
		e.thread = (1 + i / 30 % s->n_threads) & TRACE_THREAD_MAX;
		events[i] = e;
	}
	for (size_t i = 0; i < 128; i++) {
		free(m.free[i]);
	}
	free(m.live);
	return events;
}

static uint64_t now_ns(void) {
	struct timespec t;
	(void)clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

enum { PIECE = 512 }; // events, as they come from rings

/** One round; best[i]: the shortest time of piece i so far. */
static struct aggregate *digest(const struct trace_event *events, size_t n, uint32_t n_threads,
		uint64_t *best) {
	struct aggregate *a = aggregate_create(NULL, NULL);
	for (uint32_t i = 0; a && i < n_threads; i++) {
		(void)aggregate_thread(a, i, 1, 0);
	}
	for (size_t at = 0, done; a && at < n; at += done) {
		static struct trace_event piece[PIECE]; // just written, as by the drain
		size_t n_piece = n - at < PIECE ? n - at : PIECE;
		memcpy(piece, events + at, n_piece * sizeof *piece);
		uint64_t start = now_ns();
		if (!aggregate_events(a, piece, n_piece, &done, NULL)) {
			break;
		}
		uint64_t took = now_ns() - start;
		best[at / PIECE] = took < best[at / PIECE] ? took : best[at / PIECE];
	}
	return a;
}

static void print(const char *name, const struct aggregate *a, size_t n, uint64_t digest_ns) {
	struct recording rec = {0};
	uint64_t start = now_ns();
	if (!a || !aggregate_snapshot(a, 0, &rec, NULL)) {
		(void)fprintf(stderr, "out of memory\n");
		exit(1);
	}
	double snapshot_ms = (double)(now_ns() - start) / 1e6;
	struct aggregate_now now = aggregate_now(a);
	printf("%-10.10s %9zu %7.1f ns %8" PRIu32 " %9" PRIu64 " %6" PRIu32 " %9" PRIu32 " %8" PRIu32
		   " %7.1f MB %8.1f ms\n",
			name, n, (double)digest_ns / (double)n, now.n_stacks, now.live_blocks, now.n_edges,
			rec.intervals.n, rec.sizes.n, (double)now.memory_bytes / 1e6, snapshot_ms);
	recording_finish(&rec);
}

static void run(const char *name, const struct trace_event *events, size_t n, uint32_t n_threads,
		unsigned rounds) {
	size_t n_pieces = n / PIECE + 1;
	uint64_t *best = calloc(n_pieces, sizeof *best);
	if (!best) {
		abort();
	}
	memset(best, 0xff, n_pieces * sizeof *best);
	struct aggregate *a = NULL;
	for (unsigned i = 0; i < rounds || !a; i++) {
		aggregate_destroy(a);
		a = digest(events, n, n_threads, best);
	}
	uint64_t sum = 0;
	for (size_t i = 0; i * PIECE < n; i++) {
		sum += best[i];
	}
	print(name, a, n, sum);
	aggregate_destroy(a);
	free(best);
}

static bool run_file(const char *path, unsigned rounds) {
	FILE *file = fopen(path, "rb");
	if (!file || fseek(file, 0, SEEK_END) != 0) {
		perror(path);
		return false;
	}
	size_t n = (size_t)ftell(file) / sizeof(struct trace_event);
	struct trace_event *events = calloc(n, sizeof *events);
	rewind(file);
	bool ok = events && fread(events, sizeof *events, n, file) == n;
	(void)fclose(file);
	if (ok) {
		const char *slash = strrchr(path, '/');
		uint32_t n_threads = 0;
		for (size_t i = 0; i < n; i++) {
			n_threads = events[i].thread > n_threads ? events[i].thread : n_threads;
		}
		run(slash ? slash + 1 : path, events, n, n_threads, rounds);
	}
	free(events);
	return ok;
}

int main(int argc, char **argv) {
	unsigned rounds = argc > 1 ? (unsigned)strtoul(argv[1], NULL, 10) : 3;
	printf("%-10s %9s %10s %8s %9s %6s %9s %8s %10s %11s\n", "", "events", "per event", "stacks",
			"live", "edges", "intervals", "sizes", "memory", "snapshot");
	for (int i = 2; i < argc; i++) {
		if (!run_file(argv[i], rounds)) {
			return 1;
		}
	}
	for (size_t i = 0; argc <= 2 && i < N_SHAPES; i++) {
		struct trace_event *events = make_events(&shapes[i]);
		run(shapes[i].name, events, shapes[i].n_events, shapes[i].n_threads, rounds);
		free(events);
	}
	return 0;
}
