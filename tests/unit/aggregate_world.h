// SPDX-License-Identifier: MIT
#pragma once

/** For tests of the aggregate: random events, and the aggregate beside the replay. */

#include "engine/aggregate.h"
#include "replay/replay.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

/** A small world that makes events, often wrong ones. */
struct world {
	uint64_t random;
	uint64_t now;
	uint32_t n_threads, n_nodes, n_addresses;
	uint64_t max_step;   // ns between events
	unsigned is_growing; // per cent of allocations among random events
	unsigned passes;     // per cent of allocations that the next event frees again
	unsigned stays;      // per cent of events that are of the same thread as the one before
	bool has_odd_addresses, has_huge_sizes, has_wrong_times;
};

static inline uint64_t next_random(struct world *w) {
	w->random ^= w->random << 13;
	w->random ^= w->random >> 7;
	w->random ^= w->random << 17;
	return w->random * 0x2545f4914f6cdd1d >> 16;
}

static inline uint64_t below(struct world *w, uint64_t n) {
	return next_random(w) % n;
}

static inline uint64_t some_address(struct world *w) {
	uint64_t slot = below(w, w->n_addresses);
	uint64_t ptr = 0x7f0000000000 + slot * 48 + (slot % 7) * (6u << 20);
	if (w->has_odd_addresses && slot % 5 == 0) {
		ptr = slot % 2 ? ptr + 8 : ptr | (uint64_t)1 << 52;
	}
	return ptr & ~(uint64_t)7;
}

static inline uint64_t some_size(struct world *w) {
	uint64_t kind = below(w, 100);
	if (w->has_huge_sizes && kind < 3) {
		return ((uint64_t)1 << (31 + below(w, 10))) - below(w, 3);
	}
	return kind < 10 ? 0 : kind < 60 ? (uint64_t)16 << below(w, 4) : below(w, 5000);
}

static inline struct trace_event some_event(struct world *w) {
	static const uint8_t others[] = {TRACE_FREE, TRACE_FREE, TRACE_FREE, TRACE_FREE, TRACE_FREE,
			TRACE_REALLOC, TRACE_MOVED, TRACE_MOVED, TRACE_STAYED};
	w->now += below(w, 4) ? below(w, w->max_step) : 0;
	struct trace_event e = {.ptr = some_address(w), .time_ns = w->now};
	e.thread = (1 + (uint32_t)below(w, w->n_threads)) & TRACE_THREAD_MAX;
	e.kind = below(w, 100) < w->is_growing ? TRACE_ALLOC : others[below(w, sizeof others)] & 0xfu;
	if (w->has_wrong_times && below(w, 20) == 0) {
		e.time_ns = e.time_ns > 5000 ? e.time_ns - 5000 : 0;
	}
	if (e.kind == TRACE_ALLOC || e.kind == TRACE_MOVED) {
		e.size = some_size(w);
		e.node = 1 + (uint32_t)(below(w, w->n_nodes) * below(w, 3)) % 200000;
	}
	return e;
}

/** What comes after an event: here its thread and its block matter to what comes next. */
static inline struct trace_event next_event(struct world *w, const struct trace_event *before) {
	struct trace_event e = some_event(w);
	if (below(w, 100) < w->stays) {
		e.thread = before->thread;
	}
	if (before->kind == TRACE_ALLOC && below(w, 100) < w->passes) {
		e.kind = TRACE_FREE;
		e.ptr = before->ptr;
		e.size = 0;
		e.node = 0;
	}
	return e;
}

/** Both sides, fed the same. */
struct pair {
	struct aggregate *aggregate;
	struct replay *replay;
};

static inline struct pair start_pair(const struct aggregate_limits *limits, uint32_t n_threads) {
	struct pair p = {
			.aggregate = aggregate_create(limits),
			.replay = replay_create(limits ? limits->max_sizes_per_stack : 64),
	};
	for (uint32_t i = 1; i <= n_threads; i++) {
		assert_int_equal(aggregate_thread(p.aggregate, 1000 + i, 1, 0), i);
	}
	return p;
}

static inline void finish_pair(struct pair *p) {
	aggregate_destroy(p->aggregate);
	replay_destroy(p->replay);
}

static inline void feed(struct pair *p, const struct trace_event *events, size_t n) {
	aggregate_events(p->aggregate, events, n);
	replay_events(p->replay, events, n);
}

/** What the caller of aggregate_snapshot puts in: strings and nodes. */
static inline void complete(struct recording *rec) {
	rec->strings.n = 1 << 16; // names of threads
	rec->strings.items = arena_new(&rec->arena, struct slice, rec->strings.n);
	rec->locations.n = 1;
	rec->locations.items = arena_new(&rec->arena, struct rec_location, 1);
	rec->modules.n = 1;
	rec->modules.items = arena_new(&rec->arena, struct rec_module, 1);
	rec->nodes.n = 1 << 18;
	rec->nodes.items = arena_new(&rec->arena, struct rec_node, rec->nodes.n);
}

static inline void compare(const struct pair *p, uint64_t now_ns) {
	struct recording rec = {0};
	struct err err = {0};
	aggregate_snapshot(p->aggregate, now_ns, &rec);
	complete(&rec);
	if (!replay_agrees(p->replay, &rec, &err) || !recording_is_valid(&rec, &err)) {
		fail_msg("%s", err.text);
	}
	recording_finish(&rec);
}

static inline struct trace_event alloc_event(uint64_t now, uint32_t thread, uint64_t ptr,
		uint64_t size) {
	struct trace_event e = {.kind = TRACE_ALLOC, .ptr = ptr, .size = size, .node = 1};
	e.time_ns = now;
	e.thread = thread & TRACE_THREAD_MAX;
	return e;
}

static inline struct trace_event other_event(enum trace_event_kind kind, uint64_t now,
		uint32_t thread, uint64_t ptr) {
	struct trace_event e = alloc_event(now, thread, ptr, 0);
	e.kind = kind & 15;
	e.node = 0;
	return e;
}
