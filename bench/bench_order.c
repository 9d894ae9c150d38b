// SPDX-License-Identifier: MIT
/*
 * What the order costs the collector, in ns of CPU per event: rings are filled by writers in this
 * process (not timed), then taken in one round (timed). The sink looks at nothing.
 *
 *   bench_order [ROUNDS]
 */
#include "collector/order/order.h"
#include "idle_sink.h"
#include "sys/clock.h"
#include "writer.h"

#include <stdio.h>
#include <stdlib.h>

enum { N_NODES = 1 << 16, MAX_WRITERS = 1024 };

static struct segment segment;
static struct tries tries;
static struct writer writers[MAX_WRITERS];
static uint64_t n_taken;

static void take(void *user, const struct trace_event *events, size_t n) {
	(void)user;
	n_taken += n + (events[0].kind == 0);
}

static uint32_t take_thread(void *user, const struct order_thread *thread) {
	(void)user;
	return thread->slot + 1;
}

struct shape {
	const char *name;
	uint32_t n_live;   // threads with a slot
	uint32_t n_active; // of them write
	uint32_t run;      // events in a row from one thread
	uint32_t n_pages;  // that all of them share
};

static void emit(struct writer *w, uint32_t i, uint32_t n_pages) {
	enum wire_kind kind = i & 1 ? KIND_FREE : KIND_ALLOC;
	uint64_t ptr = (uint64_t)((i * 2654435761u >> 9) % n_pages + 1) << 12;
	struct writer_event e = writer_begin(w, kind, ptr, false);
	writer_publish(w, &e, 64, kind == KIND_ALLOC ? 1 + i * 40503u % (N_NODES - 1) : 0);
}

static double measure(const struct shape *shape, uint32_t n_rounds) {
	const struct order_sink sink = {.events = take,
			.late_events = take,
			.thread = take_thread,
			.thread_ended = idle_thread_ended,
			.image = idle_image,
			.is_thread_alive = idle_is_alive,
			.is_thread_running = idle_is_alive};
	struct order *o = order_create(&segment, &tries, &sink, NULL);
	uint32_t n_fill = 12000 * (shape->n_active < 8 ? shape->n_active : 8);
	uint64_t best_ns = UINT64_MAX;
	for (uint32_t round = 0; round < n_rounds; round++) {
		for (uint32_t i = 0; i < n_fill; i++) {
			emit(&writers[i / shape->run % shape->n_active], i, shape->n_pages);
		}
		// Without the rounds that wait until an epoch is complete
		uint64_t took_ns = 0;
		for (size_t n, n_left = n_fill; n_left > 0; n_left -= n) {
			uint64_t begin_ns = clock_thread_cpu_ns();
			n = order_round(o, clock_now_ns());
			took_ns += n > 0 ? clock_thread_cpu_ns() - begin_ns : 0;
		}
		best_ns = took_ns < best_ns ? took_ns : best_ns;
	}
	order_destroy(o);
	return (double)best_ns / n_fill;
}

static bool open_all(uint32_t n_live) {
	struct err err;
	const struct segment_params params = {.n_slots = MAX_WRITERS,
			.slot_bytes = 1 << 20,
			.node_capacity = N_NODES,
			.start_ns = clock_now_ns()};
	if (!segment_init(&segment, &params, &err)) {
		fprintf(stderr, "%s\n", err.text);
		return false;
	}
	tries_init(&tries, &segment);
	atomic_store(&segment.header->n_images, 1);
	for (uint32_t i = 1; i < N_NODES; i++) {
		segment.nodes[i].parent = i / 2;
		atomic_store(&segment.nodes[i].where, 0x400000 + i % 5000);
	}
	for (uint32_t i = 0; i < n_live; i++) {
		(void)writer_join_as(&writers[i], &segment, 1, i + 1);
		atomic_store(&writers[i].slot->ring, RING_BIG);
	}
	return true;
}

int main(int argc, char **argv) {
	uint32_t n_rounds = argc > 1 ? (uint32_t)strtoul(argv[1], NULL, 0) : 200;
	static const struct shape shapes[] = {
			{"1 thread", 1, 1, 1, 4000},
			{"1 of 1000 threads", 1000, 1, 1, 4000},
			{"8 threads, runs of 1000", 8, 8, 1000, 4000},
			{"8 threads, runs of 30", 8, 8, 30, 4000},
			{"8 threads, runs of 30, 16 pages", 8, 8, 30, 16},
			{"8 threads, each event another's", 8, 8, 1, 4000},
			{"8 threads, each event another's, 16 pages", 8, 8, 1, 16},
			{"64 threads, runs of 30", 64, 64, 30, 4000},
			{"1000 threads, runs of 30", 1000, 1000, 30, 4000},
	};
	for (size_t i = 0; i < sizeof shapes / sizeof shapes[0]; i++) {
		if (!open_all(shapes[i].n_live)) {
			return 1;
		}
		printf("%6.1f ns  %s\n", measure(&shapes[i], n_rounds), shapes[i].name);
		tries_finish(&tries);
		segment_finish(&segment);
	}
	return 0;
}
