// SPDX-License-Identifier: MIT
#pragma once

/**
 * For tests of the order: a segment with writers of the target's side, a clock that the test turns, and
 * a sink that keeps what came out, in `t`. Each test starts afresh (set_up, tear_down).
 */

#include "collector/order/order.h"
#include "collector/order/parts.h"
#include "writer.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <cmocka.h>

enum { MAX_ROW = 1 << 16, MS = 1000 * 1000, LINE = 4096 };

static uint32_t page_bytes; // as if the machine's were of so many bytes; 0: as they are

static struct {
	struct segment segment;
	struct tries tries;
	struct order *order;
	struct trace_event row[MAX_ROW];
	size_t n_row, n_all, n_late;
	uint32_t n_threads, n_ended, image;
	uint32_t dead_tid[8];
	uint32_t tids[4096]; // by thread id
	uint64_t now_ns;
	uint64_t last_ptr;
	uint64_t next_size, n_misplaced; // sizes count up by one in the tests that look at these
	bool is_running;
	struct err err;
} t;

// ---- the sink

static inline void take_events(void *user, const struct trace_event *events, size_t n) {
	(void)user;
	for (size_t i = 0; i < n; i++, t.n_all++) {
		if (t.n_row < MAX_ROW) {
			t.row[t.n_row++] = events[i];
		}
		t.last_ptr = events[i].ptr;
		t.n_misplaced += events[i].size != t.next_size++;
	}
}

static inline void take_late_events(void *user, const struct trace_event *events, size_t n) {
	t.n_late += n;
	take_events(user, events, n);
}

/** Calls that map are in the row, in their place. */
static inline void take_mapping(void *user, const struct trace_event *event) {
	take_events(user, event, 1);
}

static inline uint32_t take_thread(void *user, const struct order_thread *thread) {
	(void)user;
	t.n_threads++;
	t.tids[t.n_threads % 4096] = thread->tid;
	return t.n_threads;
}

static inline void take_end(void *user, uint32_t thread) {
	(void)user;
	(void)thread;
	t.n_ended++;
}

static inline void take_image(void *user, uint32_t image) {
	(void)user;
	t.image = image;
	// A mark in the row
	t.row[t.n_row++] = (struct trace_event){.ptr = image};
}

static inline bool is_alive(void *user, uint32_t pid, uint32_t tid) {
	(void)user;
	(void)pid;
	for (unsigned i = 0; i < 8; i++) {
		if (t.dead_tid[i] == tid) {
			return false;
		}
	}
	return true;
}

static inline bool is_running(void *user, uint32_t pid, uint32_t tid) {
	(void)user;
	(void)pid;
	(void)tid;
	return t.is_running;
}

static inline int set_up_slots(uint32_t n_slots, const struct order_limits *limits) {
	memset(&t, 0, sizeof t);
	t.now_ns = 1000 * MS;
	const struct segment_params params = {.n_slots = n_slots,
			.slot_bytes = 1 << 20,
			.node_capacity = 1 << 16,
			.module_capacity = 256,
			.page_bytes = page_bytes,
			.start_ns = 0};
	const struct order_sink sink = {.events = take_events,
			.late_events = take_late_events,
			.mapping = take_mapping,
			.thread = take_thread,
			.thread_ended = take_end,
			.image = take_image,
			.is_thread_alive = is_alive,
			.is_thread_running = is_running};
	if (!segment_init(&t.segment, &params, &t.err)) {
		return -1;
	}
	tries_init(&t.tries, &t.segment);
	atomic_store(&t.segment.header->n_images, 1);
	t.order = order_create(&t.segment, &t.tries, &sink, limits);
	return 0;
}

static inline int set_up_with(const struct order_limits *limits) {
	return set_up_slots(64, limits);
}

static inline int set_up(void **state) {
	(void)state;
	return set_up_with(NULL);
}

static inline int tear_down(void **state) {
	(void)state;
	order_destroy(t.order);
	tries_finish(&t.tries);
	segment_finish(&t.segment);
	return 0;
}

static inline size_t round_now(void) {
	return order_round(t.order, t.now_ns);
}

static inline void rounds(unsigned n, uint64_t step_ns) {
	for (unsigned i = 0; i < n; i++) {
		t.now_ns += step_ns;
		(void)round_now();
	}
}

// ---- the target

static inline struct writer join(uint32_t tid) {
	struct writer w;
	assert_true(writer_join_as(&w, &t.segment, 1, tid));
	return w;
}

static inline void emit(struct writer *w, enum wire_kind kind, uint64_t ptr, uint64_t size) {
	bool is_wide = wire_is_wide(ptr, size);
	struct writer_event e = writer_begin(w, kind, ptr, is_wide);
	writer_publish(w, &e, size, 0);
}

/** Pointers of page k. */
static inline uint64_t page(uint64_t k) {
	return (k + 1) * LINE;
}

static inline void assert_row(size_t n, const uint64_t *ptrs) {
	assert_int_equal(t.n_row, n);
	for (size_t i = 0; i < n; i++) {
		assert_int_equal(t.row[i].ptr, ptrs[i]);
	}
}
#define ASSERT_ROW(...) \
	assert_row(sizeof((uint64_t[]){__VA_ARGS__}) / 8, (const uint64_t[]){__VA_ARGS__})

/** An entry of a test program's table: the test between set_up and tear_down. */
#define ORDER_TEST(name) cmocka_unit_test_setup_teardown(test_##name, set_up, tear_down)
