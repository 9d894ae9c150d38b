// SPDX-License-Identifier: MIT

/**
 * What the aggregate costs per event, on made-up events of the shape of recorded programs. The
 * same events are digested in several rounds; of each piece of 512 the best round counts, so
 * that other programs on the machine matter little.
 *
 *   bench_aggregate [ROUNDS [FILE ...]]     FILE: a recording made with --events
 */

#include "engine/aggregate.h"
#include "events.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static uint64_t now_ns(void) {
	struct timespec t;
	(void)clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

enum { PIECE = 512 }; // events, as they come from rings

/** One round; best[i]: the shortest time of piece i so far. */
static struct aggregate *digest(const struct trace_event *events, size_t n, uint32_t n_threads,
		uint64_t *best) {
	struct aggregate *a = aggregate_create(NULL);
	for (uint32_t i = 0; i < n_threads; i++) {
		(void)aggregate_thread(a, i, 1, 0);
	}
	for (size_t at = 0; at < n; at += PIECE) {
		static struct trace_event piece[PIECE]; // just written, as by the drain
		size_t n_piece = n - at < PIECE ? n - at : PIECE;
		memcpy(piece, events + at, n_piece * sizeof *piece);
		uint64_t start = now_ns();
		aggregate_events(a, piece, n_piece);
		uint64_t took = now_ns() - start;
		best[at / PIECE] = took < best[at / PIECE] ? took : best[at / PIECE];
	}
	return a;
}

static void print(const char *name, const struct aggregate *a, size_t n, uint64_t digest_ns) {
	struct recording rec = {0};
	uint64_t start = now_ns();
	aggregate_snapshot(a, 0, &rec);
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

int main(int argc, char **argv) {
	unsigned rounds = argc > 1 ? (unsigned)strtoul(argv[1], NULL, 10) : 3;
	printf("%-10s %9s %10s %8s %9s %6s %9s %8s %10s %11s\n", "", "events", "per event", "stacks",
			"live", "edges", "intervals", "sizes", "memory", "snapshot");
	size_t n = argc > 2 ? (size_t)argc - 2 : EVENTS_SHAPES;
	for (size_t i = 0; i < n; i++) {
		struct events e = argc > 2 ? events_read(argv[2 + i]) : events_made(i);
		run(e.name, e.items, e.n, e.n_threads, rounds);
		free(e.items);
	}
	return 0;
}
