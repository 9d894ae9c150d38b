// SPDX-License-Identifier: MIT
#include "collector/order.h"
#include "collector/order_parts.h"
#include "writer.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <cmocka.h>

enum { MAX_ROW = 1 << 16, MS = 1000 * 1000, LINE = 1 << WIRE_REGION_SHIFT };

static struct {
	struct segment segment;
	struct tries tries;
	struct order *order;
	struct trace_event row[MAX_ROW];
	size_t n_row, n_all;
	uint32_t n_threads, n_ended, image;
	uint32_t dead_tid[8];
	uint32_t tids[4096]; // by thread id
	uint64_t now_ns;
	uint64_t last_ptr;
	uint64_t next_size, n_misplaced; // sizes count up by one in the tests that look at these
	bool is_refusing;
	struct err err;
} t;

// ---- the sink

static bool take_events(void *user, const struct trace_event *events, size_t n, struct err *err) {
	(void)user;
	if (t.is_refusing) {
		return err_set(err, ERR_LIMIT, "enough");
	}
	for (size_t i = 0; i < n; i++, t.n_all++) {
		if (t.n_row < MAX_ROW) {
			t.row[t.n_row++] = events[i];
		}
		t.last_ptr = events[i].ptr;
		t.n_misplaced += events[i].size != t.next_size++;
	}
	return true;
}

static uint32_t take_thread(void *user, const struct order_thread *thread) {
	(void)user;
	t.n_threads++;
	t.tids[t.n_threads % 4096] = thread->tid;
	return t.n_threads;
}

static void take_end(void *user, uint32_t thread) {
	(void)user;
	(void)thread;
	t.n_ended++;
}

static bool take_image(void *user, uint32_t image, struct err *err) {
	(void)user;
	(void)err;
	t.image = image;
	// A mark in the row
	t.row[t.n_row++] = (struct trace_event){.ptr = image};
	return true;
}

static bool is_alive(void *user, uint32_t pid, uint32_t tid) {
	(void)user;
	(void)pid;
	for (unsigned i = 0; i < 8; i++) {
		if (t.dead_tid[i] == tid) {
			return false;
		}
	}
	return true;
}

static int set_up_slots(uint32_t n_slots, const struct order_limits *limits) {
	memset(&t, 0, sizeof t);
	t.now_ns = 1000 * MS;
	const struct segment_params params = {.n_slots = n_slots,
			.slot_bytes = 1 << 20,
			.node_capacity = 1 << 16,
			.module_capacity = 256,
			.start_ns = 0};
	const struct order_sink sink = {.events = take_events,
			.thread = take_thread,
			.thread_ended = take_end,
			.image = take_image,
			.is_thread_alive = is_alive};
	if (!segment_init(&t.segment, &params, &t.err) || !tries_init(&t.tries, &t.segment, &t.err)) {
		return -1;
	}
	atomic_store(&t.segment.header->n_images, 1);
	t.order = order_create(&t.segment, &t.tries, &sink, limits, &t.err);
	return t.order ? 0 : -1;
}

static int set_up_with(const struct order_limits *limits) {
	return set_up_slots(64, limits);
}

static int set_up(void **state) {
	(void)state;
	return set_up_with(NULL);
}

static int tear_down(void **state) {
	(void)state;
	order_destroy(t.order);
	tries_finish(&t.tries);
	segment_finish(&t.segment);
	return 0;
}

static size_t round_now(void) {
	size_t n = 0;
	assert_true(order_round(t.order, t.now_ns, &n, &t.err));
	return n;
}

static void rounds(unsigned n, uint64_t step_ns) {
	for (unsigned i = 0; i < n; i++) {
		t.now_ns += step_ns;
		(void)round_now();
	}
}

// ---- the target

static struct writer join(uint32_t tid) {
	struct writer w;
	assert_true(writer_join_as(&w, &t.segment, 1, tid));
	return w;
}

static void emit(struct writer *w, enum wire_kind kind, uint64_t ptr, uint64_t size) {
	bool is_wide = wire_is_wide(ptr, size);
	struct writer_event e = writer_begin(w, kind, ptr, is_wide);
	writer_publish(w, &e, size, 0);
}

/** Pointers of different regions: page k. */
static uint64_t page(uint64_t k) {
	return (k + 1) * LINE;
}

static void assert_row(size_t n, const uint64_t *ptrs) {
	assert_int_equal(t.n_row, n);
	for (size_t i = 0; i < n; i++) {
		assert_int_equal(t.row[i].ptr, ptrs[i]);
	}
}
#define ASSERT_ROW(...) \
	assert_row(sizeof((uint64_t[]){__VA_ARGS__}) / 8, (const uint64_t[]){__VA_ARGS__})

// ---- tests

static void test_follows_numbers_over_rings(void **state) {
	(void)state;
	struct writer a = join(1), b = join(2);
	struct writer_event e[4];
	e[0] = writer_begin(&b, KIND_ALLOC, page(1), false);
	e[1] = writer_begin(&a, KIND_FREE, page(1), false);
	e[2] = writer_begin(&b, KIND_ALLOC, page(1) + 16, false);
	e[3] = writer_begin(&a, KIND_FREE, page(1) + 16, false);
	for (unsigned i = 4; i-- > 0;) {
		writer_publish(i % 2 ? &a : &b, &e[i], 0, 0);
	}
	assert_int_equal(round_now(), 4);
	ASSERT_ROW(page(1), page(1), page(1) + 16, page(1) + 16);
	assert_int_equal(t.row[0].kind, TRACE_ALLOC);
	assert_int_equal(t.row[1].kind, TRACE_FREE);
	assert_int_not_equal(t.row[0].thread, t.row[1].thread);
	assert_int_equal(t.tids[t.row[0].thread], 2);
}

static void test_wide_events_carry_all_bits(void **state) {
	(void)state;
	struct writer w = join(1);
	// The prefix as the last entry of the ring, its event as the first
	for (unsigned i = 0; i < RING_SMALL_ENTRIES - 1; i++) {
		emit(&w, KIND_ALLOC, page(3), i);
	}
	(void)round_now();
	t.n_row = 0;
	emit(&w, KIND_ALLOC, 0xfedcba9876543217u, UINT64_C(1) << 58);
	emit(&w, KIND_ALLOC, page(3), WIRE_SIZE_WIDE - 1);
	emit(&w, KIND_FREE, 0xfedcba9876543217u, 0);
	(void)round_now();
	ASSERT_ROW(0xfedcba9876543217u, page(3), 0xfedcba9876543217u);
	assert_int_equal(t.row[0].size, UINT64_C(1) << 58);
	assert_int_equal(t.row[1].size, WIRE_SIZE_WIDE - 1);
	assert_int_equal(order_counts(t.order).bad_entries, 0);
}

static void test_abandoned_wide_events_are_dropped(void **state) {
	(void)state;
	struct writer w = join(1);
	struct writer_event e = writer_reserve(&w, KIND_ALLOC, page(1), true);
	// Left between the prefix and the event
	atomic_store(&e.entries[0]->head, e.phases[0] | (uint64_t)KIND_WIDE << 60 | page(1) >> 4);
	(void)round_now();
	assert_int_equal(writer_recover(&w), 1);
	emit(&w, KIND_ALLOC, page(2), 1);
	(void)round_now();
	ASSERT_ROW(page(2));
}

static void test_laps_and_both_rings(void **state) {
	(void)state;
	struct writer w = join(1);
	enum { N = 200000 };
	for (uint32_t i = 0; i < N; i++) {
		if (!writer_make_room(&w, 1, false)) {
			t.n_row = 0;
			(void)round_now();
			assert_true(writer_make_room(&w, 1, false));
		}
		emit(&w, KIND_ALLOC, page(i), 7);
		if (i % 10007 == 0) {
			(void)round_now();
		}
	}
	(void)round_now();
	assert_int_equal(t.n_all, N);
	assert_int_equal(t.last_ptr, page(N - 1));
	assert_int_equal(atomic_load(&w.slot->ring), RING_BIG);
	assert_int_equal(atomic_load(&w.slot->rings[RING_BIG].taken),
			atomic_load(&w.slot->rings[RING_BIG].reserved));
	assert_int_equal(order_counts(t.order).strays, 0);
}

/** 5000 events of one region, so that one of the two always waits for the other's. */
static void take_turns(struct writer *a, struct writer *b) {
	for (uint32_t i = 0; i < 5000; i += 500) {
		for (uint32_t k = 0; k < 500; k++) {
			emit(k % 3 ? a : b, KIND_ALLOC, page(1), k);
		}
		t.n_row = 0;
		(void)round_now();
		for (uint32_t k = 0; k < 500; k++) {
			assert_int_equal(t.row[k].size, k);
		}
	}
}

static void test_numbers_wrap(void **state) {
	(void)state;
	struct writer a = join(1), b = join(2);
	const uint32_t region = wire_region_of(page(1)), step = 1u << (WIRE_NUMBER_BITS - 1);
	for (uint32_t number = 2 * step - 2600, i = 0; i < 40; number += step, i++) {
		// As if so many had passed
		t.order->regions[region].turn = number;
		t.order->counts.events += step;
		atomic_store(&t.segment.regions[region].next, number);
		(void)round_now();
		take_turns(&a, &b);
	}
	assert_int_equal(order_counts(t.order).strays, 0);
	assert_int_equal(order_counts(t.order).skipped_numbers, 0);
}

static void test_handlers_events_come_from_behind(void **state) {
	(void)state;
	struct writer a = join(1), b = join(2);
	struct writer_event hook = writer_begin(&a, KIND_ALLOC, page(1), false);
	emit(&a, KIND_ALLOC, page(2), 0); // a handler's
	emit(&b, KIND_FREE, page(2), 0);
	emit(&b, KIND_ALLOC, page(1), 0); // must wait for the hook
	(void)round_now();
	ASSERT_ROW(page(2), page(2));
	writer_publish(&a, &hook, 0, 0);
	(void)round_now();
	ASSERT_ROW(page(2), page(2), page(1), page(1));
	assert_int_equal(t.row[2].thread, t.row[0].thread);
	assert_int_equal(order_counts(t.order).looked_behind, 1);
}

static void test_handlers_may_move_to_the_big_ring(void **state) {
	(void)state;
	struct writer a = join(1), b = join(2);
	struct writer_event hook = writer_reserve(&a, KIND_ALLOC, page(1), false);
	atomic_store(&a.slot->ring, RING_BIG);
	emit(&a, KIND_ALLOC, page(2), 0);
	emit(&b, KIND_FREE, page(2), 0);
	(void)round_now();
	ASSERT_ROW(page(2), page(2));
	writer_number(&a, &hook);
	writer_publish(&a, &hook, 0, 0);
	emit(&a, KIND_FREE, page(1), 0);
	(void)round_now();
	ASSERT_ROW(page(2), page(2), page(1), page(1));
}

static void test_small_ring_may_grow_late(void **state) {
	(void)state;
	struct writer a = join(1);
	atomic_store(&a.slot->ring, RING_BIG);
	emit(&a, KIND_ALLOC, page(1), 0);
	(void)round_now();
	// A hook that had chosen the small ring before a handler moved on
	atomic_store(&a.slot->ring, RING_SMALL);
	emit(&a, KIND_ALLOC, page(2), 0);
	atomic_store(&a.slot->ring, RING_BIG);
	emit(&a, KIND_FREE, page(2), 0);
	(void)round_now();
	ASSERT_ROW(page(1), page(2), page(2));
}

static void test_program_order_holds_without_need(void **state) {
	(void)state;
	struct writer a = join(1), b = join(2);
	struct writer_event slow = writer_begin(&a, KIND_ALLOC, page(1), false);
	emit(&b, KIND_FREE, page(1), 0);
	emit(&b, KIND_ALLOC, page(2), 0);
	emit(&b, KIND_FREE, page(2), 0);
	(void)round_now();
	assert_int_equal(t.n_row, 0); // the last two could leave, and must not yet
	writer_publish(&a, &slow, 0, 0);
	(void)round_now();
	ASSERT_ROW(page(1), page(1), page(2), page(2));
}

static void test_stopped_thread_holds_its_region_only(void **state) {
	(void)state;
	struct writer a = join(1), b = join(2), c = join(3);
	struct writer_event slow = writer_begin(&a, KIND_ALLOC, page(1), false);
	emit(&b, KIND_FREE, page(1), 0);
	emit(&b, KIND_ALLOC, page(2), 0);
	emit(&c, KIND_FREE, page(2), 0);
	(void)round_now();
	assert_int_equal(t.n_row, 0); // b's order first
	rounds(90, MS);
	assert_int_equal(t.n_row, 0);
	rounds(30, MS);
	ASSERT_ROW(page(2), page(2));
	assert_int_equal(order_counts(t.order).parked, 1);
	rounds(3000, MS);
	assert_int_equal(t.n_row, 2);
	writer_publish(&a, &slow, 0, 0);
	(void)round_now();
	ASSERT_ROW(page(2), page(2), page(1), page(1));
	assert_int_equal(order_counts(t.order).skipped_numbers, 0);
	// b waits again instead of parking
	slow = writer_begin(&a, KIND_ALLOC, page(1), false);
	emit(&b, KIND_FREE, page(1), 0);
	emit(&b, KIND_ALLOC, page(2), 0);
	(void)round_now();
	assert_int_equal(t.n_row, 4);
	writer_publish(&a, &slow, 0, 0);
	(void)round_now();
	assert_int_equal(t.n_row, 7);
}

static void test_moved_never_overtakes_its_realloc(void **state) {
	(void)state;
	struct writer a = join(1), b = join(2);
	struct writer_event slow = writer_begin(&a, KIND_ALLOC, page(1), false);
	emit(&b, KIND_REALLOC, page(1), 0);
	emit(&b, KIND_MOVED, page(2), 5);
	emit(&b, KIND_ALLOC, page(3), 0);
	rounds(130, MS);
	ASSERT_ROW(page(3));
	writer_publish(&a, &slow, 0, 0);
	(void)round_now();
	ASSERT_ROW(page(3), page(1), page(1), page(2));
	assert_int_equal(t.row[2].kind, TRACE_REALLOC);
	assert_int_equal(t.row[3].kind, TRACE_MOVED);
}

static void test_number_of_a_dead_thread_is_skipped(void **state) {
	(void)state;
	struct writer a = join(1), b = join(2);
	emit(&a, KIND_ALLOC, page(2), 0);
	(void)writer_begin(&a, KIND_ALLOC, page(1), false);
	emit(&b, KIND_ALLOC, page(1), 1);
	emit(&b, KIND_ALLOC, page(1), 2);
	rounds(100, MS);
	assert_int_equal(t.n_row, 1);
	t.dead_tid[0] = 1;
	rounds(100, MS);
	ASSERT_ROW(page(2), page(1), page(1));
	struct order_counts c = order_counts(t.order);
	assert_int_equal(c.skipped_numbers, 1);
	assert_int_equal(c.unpublished, 1);
	assert_int_equal(c.forced, 0);
	assert_int_equal(t.n_ended, 1);
}

static void test_abandoned_number_is_skipped_once_void(void **state) {
	(void)state;
	struct writer a = join(1), b = join(2);
	(void)writer_begin(&a, KIND_ALLOC, page(1), false);
	emit(&b, KIND_ALLOC, page(1), 1);
	rounds(100, MS);
	assert_int_equal(t.n_row, 0);
	assert_int_equal(writer_recover(&a), 1);
	rounds(10, MS);
	ASSERT_ROW(page(1));
	assert_int_equal(order_counts(t.order).skipped_numbers, 1);
}

static void test_after_long_it_goes_on_by_force(void **state) {
	(void)state;
	struct writer a = join(1), b = join(2);
	struct writer_event slow = writer_begin(&a, KIND_ALLOC, page(1), false);
	emit(&b, KIND_ALLOC, page(1), 1);
	rounds(9000, MS);
	assert_int_equal(t.n_row, 0);
	rounds(2000, MS);
	ASSERT_ROW(page(1));
	assert_int_equal(order_counts(t.order).forced, 1);
	writer_publish(&a, &slow, 2, 0);
	(void)round_now();
	assert_int_equal(t.n_row, 2);
	assert_int_equal(order_counts(t.order).strays, 1);
}

static void test_full_parking_lot_stops_rings_not_time(void **state) {
	tear_down(state);
	const struct order_limits limits = {.max_parked = 10};
	assert_int_equal(set_up_with(&limits), 0);
	struct writer a = join(1), b = join(2);
	struct writer_event slow = writer_begin(&a, KIND_ALLOC, page(1), false);
	for (unsigned i = 0; i < 500; i++) {
		emit(&b, KIND_ALLOC, page(1), i);
	}
	rounds(1000, MS);
	assert_int_equal(order_counts(t.order).parked, 10);
	assert_int_equal(atomic_load(&b.slot->rings[RING_SMALL].taken), 10);
	writer_publish(&a, &slow, 0, 0);
	rounds(3, MS);
	assert_int_equal(t.n_row, 501);
	for (unsigned i = 0; i < 500; i++) {
		assert_int_equal(t.row[i + 1].size, i);
	}
}

static void test_ring_that_waits_is_relieved_in_order(void **state) {
	(void)state;
	enum { N = 60000 };
	struct writer a = join(1), b = join(2);
	struct writer_event slow = writer_begin(&a, KIND_ALLOC, page(1), false);
	for (unsigned i = 0; i < N; i++) {
		if (i % 5000 == 0) {
			(void)round_now(); // no time passes
		}
		assert_true(writer_make_room(&b, 2, false));
		emit(&b, KIND_ALLOC, page(1 + i % 7), i % 9 ? i : UINT64_C(1) << 40 | i);
	}
	(void)round_now();
	assert_int_equal(t.n_row, 0);
	assert_int_equal(order_counts(t.order).parked, 0);
	assert_true(order_counts(t.order).relieved > N / 2);
	writer_publish(&a, &slow, 0, 0);
	(void)round_now();
	assert_int_equal(t.n_row, N + 1);
	for (unsigned i = 0; i < N; i++) {
		assert_int_equal(t.row[i + 1].size & 0xffffff, i);
	}
	assert_int_equal(atomic_load(&b.slot->rings[RING_BIG].taken),
			atomic_load(&b.slot->rings[RING_BIG].reserved));
}

/**
 * A thread stands still with a region's number while so many others go on in it, one after the
 * other, that what waits is more than 21 bits of a number could tell apart.
 */
static void test_a_region_may_have_millions_of_numbers_out(void **state) {
	enum { N_OTHERS = 140, N_EACH = 16000 };
	_Static_assert(N_OTHERS * N_EACH > (1 << 21) + 100000, "enough");
	tear_down(state);
	assert_int_equal(set_up_slots(256, NULL), 0);
	struct writer a = join(1);
	struct writer_event slow = writer_begin(&a, KIND_ALLOC, page(1), false);
	for (uint32_t i = 0; i < N_OTHERS * N_EACH; i += N_EACH) {
		struct writer w = join(i + 2);
		for (uint32_t k = 0; k < N_EACH; k++) {
			assert_true(writer_make_room(&w, 1, false));
			emit(&w, KIND_ALLOC, page(1), i + k + 1);
		}
		(void)round_now();
	}
	assert_int_equal(t.n_all, 0);
	writer_publish(&a, &slow, 0, 0);
	assert_true(order_finish(t.order, t.now_ns, &t.err));
	assert_int_equal(t.n_all, N_OTHERS * N_EACH + 1);
	assert_int_equal(t.n_misplaced, 0);
	assert_int_equal(order_counts(t.order).strays, 0);
}

/**
 * Behind events that wait for a lost number stand others whose turn it is, but only one at a time,
 * and readers are looked at in the wrong order for it: looking there must not put off the proof.
 */
static void test_looking_ahead_does_not_put_off_a_proof(void **state) {
	enum { N = 60, N_EACH = 200 };
	const struct order_limits limits = {.patience_ns = UINT64_C(5000) * MS, .max_parked = 10};
	tear_down(state);
	assert_int_equal(set_up_with(&limits), 0);
	struct writer dead = join(1), w[N];
	(void)writer_begin(&dead, KIND_ALLOC, page(1), false);
	t.dead_tid[0] = 1;
	for (uint32_t i = 0; i < N; i++) {
		w[i] = join(i + 2);
		emit(&w[i], KIND_ALLOC, page(1), 0);
	}
	for (uint32_t i = 0; i < N * N_EACH; i++) {
		emit(&w[N - 1 - i % N], KIND_ALLOC, page(2), i);
	}
	rounds(1000, MS);
	assert_int_equal(t.n_row, N + N * N_EACH);
	assert_int_equal(order_counts(t.order).skipped_numbers, 1);
	assert_int_equal(order_counts(t.order).forced, 0);
}

/** A handler reallocs between a realloc's entry and its number: each stands before the other. */
static void test_tangled_reallocs_of_a_handler_come_to_an_end(void **state) {
	(void)state;
	struct writer a = join(1);
	struct writer_event outer = writer_reserve(&a, KIND_REALLOC, page(1), false);
	emit(&a, KIND_REALLOC, page(1), 0);
	emit(&a, KIND_MOVED, page(2), 1);
	writer_number(&a, &outer);
	writer_publish(&a, &outer, 0, 0);
	emit(&a, KIND_MOVED, page(3), 2);
	rounds(300, MS);
	assert_int_equal(t.n_row, 4);
}

static void test_slots_are_given_back(void **state) {
	(void)state;
	for (uint32_t i = 0; i < 200; i++) {
		struct writer w = join(i + 1);
		assert_in_range((uint8_t *)w.slot - t.segment.slots, 0, 3 << 20);
		for (unsigned k = 0; k < 300; k++) {
			emit(&w, KIND_ALLOC, page(i), k);
		}
		atomic_store(&w.slot->failed, 2);
		*((uint8_t *)w.slot + SLOT_PRIVATE_AT + 12345) = 1;
		uint32_t generation = w.slot->generation;
		(void)round_now();
		t.dead_tid[0] = i + 1;
		rounds(3, 11 * MS);
		assert_int_equal(t.n_ended, i + 1);
		assert_int_equal(atomic_load(&w.slot->state), SLOT_FREE);
		assert_int_equal(w.slot->generation, generation + 1);
		assert_int_equal(w.slot->tid, 0);
		assert_int_equal(*((uint8_t *)w.slot + SLOT_PRIVATE_AT + 12345), 0);
		assert_int_equal(*((uint8_t *)w.slot + SLOT_SMALL_RING_AT + 7), 0);
	}
	assert_int_equal(t.n_all, 200 * 300);
	assert_int_equal(order_counts(t.order).failed, 400);
	assert_int_equal(order_counts(t.order).n_live, 0);
}

static void test_tid_that_comes_again_ends_the_old_thread(void **state) {
	(void)state;
	struct writer old = join(7);
	emit(&old, KIND_ALLOC, page(1), 0);
	(void)writer_begin(&old, KIND_ALLOC, page(2), false);
	(void)round_now();
	struct writer w = join(7);
	emit(&w, KIND_ALLOC, page(2), 0);
	rounds(30, MS);
	ASSERT_ROW(page(1), page(2));
	assert_int_equal(t.n_ended, 1);
	assert_int_equal(order_counts(t.order).n_live, 1);
}

static void test_images_follow_each_other(void **state) {
	(void)state;
	struct writer a = join(1), b = join(2);
	emit(&a, KIND_ALLOC, page(1), 0);
	(void)round_now();
	(void)writer_begin(&b, KIND_ALLOC, page(2), false); // killed by the exec
	emit(&a, KIND_ALLOC, page(2), 0);
	emit(&a, KIND_ALLOC, page(3), 0);
	atomic_store(&t.segment.header->n_images, 2);
	struct writer n;
	assert_true(writer_join_as(&n, &t.segment, 2, 1));
	emit(&n, KIND_ALLOC, page(2), 1);
	rounds(50, MS);
	// The mark stands between the images
	ASSERT_ROW(page(1), page(3), page(2), 2, page(2));
	assert_int_equal(t.image, 2);
	assert_int_equal(t.n_ended, 2);
	assert_int_equal(t.n_threads, 3);
}

static void label(struct writer *w, uint64_t ns) {
	struct writer_event e = writer_reserve(w, KIND_TIME, 0, false);
	e.entries[0]->body = ns;
	atomic_store(&e.entries[0]->head, e.phases[0] | (uint64_t)KIND_TIME << 60);
}

static void test_rings_are_merged_by_label(void **state) {
	(void)state;
	struct writer w[3] = {join(1), join(2), join(3)};
	for (unsigned i = 0; i < 30; i++) {
		label(&w[i % 3], (i + 1) * MS);
		emit(&w[i % 3], KIND_ALLOC, page(i), 0);
		emit(&w[i % 3], KIND_ALLOC, page(i), 1);
	}
	(void)round_now();
	assert_int_equal(t.n_row, 60);
	for (unsigned i = 0; i < 60; i++) {
		assert_int_equal(t.row[i].ptr, page(i / 2));
		assert_int_equal(t.row[i].time_ns, (i / 2 + 1) * MS);
	}
}

static void test_labels_of_the_future_wait_or_are_cut(void **state) {
	(void)state;
	struct writer w = join(1);
	label(&w, t.now_ns + 5 * MS);
	emit(&w, KIND_ALLOC, page(1), 0);
	(void)round_now();
	assert_int_equal(t.n_row, 0);
	rounds(10, MS);
	assert_int_equal(t.n_row, 1);
	label(&w, UINT64_MAX);
	emit(&w, KIND_ALLOC, page(1), 0);
	rounds(2, MS);
	assert_int_equal(t.n_row, 2);
	assert_in_range(t.row[1].time_ns, t.now_ns - 10 * MS, t.now_ns);
	assert_int_equal(order_counts(t.order).bad_entries, 1);
}

static void test_owner_that_waits_is_told(void **state) {
	(void)state;
	struct writer w = join(1);
	emit(&w, KIND_ALLOC, page(1), 0);
	atomic_store(&w.slot->rings[RING_SMALL].owner_waits, 1);
	(void)round_now();
	assert_int_equal(atomic_load(&w.slot->rings[RING_SMALL].taken), 1);
	assert_int_equal(atomic_load(&w.slot->rings[RING_SMALL].room), 1);
}

static void test_refusal_of_the_sink_is_passed_on(void **state) {
	(void)state;
	struct writer w = join(1);
	emit(&w, KIND_ALLOC, page(1), 0);
	t.is_refusing = true;
	size_t n;
	assert_false(order_round(t.order, t.now_ns, &n, &t.err));
	assert_string_equal(t.err.text, "enough");
	assert_int_equal(n, 0);
}

static void test_end_takes_what_is_left(void **state) {
	(void)state;
	struct writer a = join(1), b = join(2);
	(void)writer_begin(&a, KIND_ALLOC, page(1), false);
	emit(&a, KIND_ALLOC, page(2), 0);
	emit(&b, KIND_FREE, page(1), 0);
	label(&b, UINT64_MAX);
	emit(&b, KIND_FREE, page(2), 0);
	assert_true(order_finish(t.order, t.now_ns, &t.err));
	assert_int_equal(t.n_row, 3);
	assert_int_equal(t.n_ended, 2);
	assert_int_equal(order_counts(t.order).skipped_numbers, 1);
	assert_int_equal(order_counts(t.order).n_live, 0);
}

// ---- many threads, played step by step at random

enum { N_PLAYERS = 6, MAX_NESTED = 3, PLAY_PAGES = 5 };

struct player {
	struct writer writer;
	struct writer_event open[MAX_NESTED]; // a hook, and handlers that interrupted it
	bool has_number[MAX_NESTED];
	unsigned n_open;
};

/** One step of a random player. Sizes tell the order in which the page's numbers were drawn. */
static void play(struct player *players, uint64_t *drawn, uint64_t sizes[][MAX_NESTED]) {
	struct player *p = &players[rand() % N_PLAYERS];
	unsigned top = p->n_open - 1;
	bool begins = p->n_open == 0 || (p->n_open < MAX_NESTED && rand() % 8 == 0);
	if (begins && writer_make_room(&p->writer, 2, false)) {
		uint64_t ptr = page((uint64_t)rand() % PLAY_PAGES);
		p->open[p->n_open] = writer_reserve(&p->writer, KIND_ALLOC, ptr, rand() % 4 == 0);
		p->has_number[p->n_open++] = false;
	} else if (p->n_open > 0 && !p->has_number[top]) {
		writer_number(&p->writer, &p->open[top]);
		p->has_number[top] = true;
		sizes[p - players][top] = drawn[p->open[top].ptr / LINE]++;
	} else if (p->n_open > 0) {
		writer_publish(&p->writer, &p->open[top], sizes[p - players][top], 0);
		p->n_open--;
	}
}

static void check_row(uint64_t *seen) {
	for (size_t i = 0; i < t.n_row; i++) {
		assert_int_equal(t.row[i].size, seen[t.row[i].ptr / LINE]);
		seen[t.row[i].ptr / LINE]++;
	}
	t.n_row = 0;
}

static void test_random_plays_come_out_in_order(void **state) {
	(void)state;
	for (unsigned seed = 0; seed < 30; seed++) {
		srand(seed);
		struct player players[N_PLAYERS] = {0};
		uint64_t drawn[PLAY_PAGES + 1] = {0}, seen[PLAY_PAGES + 1] = {0};
		uint64_t sizes[N_PLAYERS][MAX_NESTED];
		for (uint32_t i = 0; i < N_PLAYERS; i++) {
			players[i].writer = join(i + 1);
		}
		unsigned steps_per_round = 1 + (unsigned)rand() % 2000;
		for (unsigned step = 0; step < 40000; step++) {
			play(players, drawn, sizes);
			if (rand() % steps_per_round == 0) {
				rounds(1, (uint64_t)rand() % (8 * MS));
				check_row(seen);
			}
		}
		for (unsigned step = 0; step < 4000; step++) { // let them come to an end
			struct player *p = &players[step % N_PLAYERS];
			while (p->n_open > 0) {
				unsigned top = --p->n_open;
				if (!p->has_number[top]) {
					writer_number(&p->writer, &p->open[top]);
					sizes[p - players][top] = drawn[p->open[top].ptr / LINE]++;
				}
				writer_publish(&p->writer, &p->open[top], sizes[p - players][top], 0);
			}
		}
		// A hook and its handler wait for each other until patience is lost, one after the other
		for (unsigned i = 0; i < 1000; i++) {
			rounds(1, 4 * MS);
			check_row(seen);
		}
		assert_memory_equal(drawn, seen, sizeof drawn);
		assert_int_equal(order_counts(t.order).strays, 0);
		assert_int_equal(order_counts(t.order).skipped_numbers, 0);
		tear_down(state);
		assert_int_equal(set_up_with(NULL), 0);
	}
}

// ---- memory that somebody scribbles on

static void scribble(void) {
	struct segment *s = &t.segment;
	struct thread_slot *slot = segment_slot(s, (uint32_t)rand() % 4);
	uint64_t value = (uint64_t)rand() << 33 ^ (uint64_t)rand() << 11 ^ (uint64_t)rand();
	uint64_t *at;
	switch (rand() % 8) {
	case 0: at = (uint64_t *)&s->regions[rand() % WIRE_N_REGIONS]; break;
	case 1: at = (uint64_t *)&s->nodes[rand() % 64]; break;
	case 2: at = (uint64_t *)slot + rand() % (sizeof *slot / 8); break;
	case 3: at = (uint64_t *)s->header + 40 + rand() % 16; break; // what the target counts
	default:
		at = (uint64_t *)((uint8_t *)slot + SLOT_SMALL_RING_AT) +
				rand() % (2 * (RING_SMALL_ENTRIES + RING_BIG_ENTRIES));
	}
	*at = rand() % 4 ? value : *at ^ 1ull << rand() % 64;
}

static void test_scribbled_memory_does_no_harm(void **state) {
	for (unsigned seed = 0; seed < 40; seed++) {
		srand(seed);
		struct writer w[3] = {join(1), join(2), join(3)};
		for (unsigned i = 0; i < 300; i++) {
			for (unsigned k = 0; k < (unsigned)rand() % 200; k++) {
				struct writer *one = &w[rand() % 3];
				// Not through a ring index that was scribbled on
				uint32_t which = atomic_load(&one->slot->ring);
				if (which < N_RINGS) {
					emit(one, (enum wire_kind)(rand() % 8), page((uint64_t)rand() % 9),
							(uint64_t)rand());
				}
			}
			for (unsigned k = 0; k < (unsigned)rand() % 100; k++) {
				scribble();
			}
			t.n_row = 0;
			rounds(1, (uint64_t)rand() % (30 * MS));
		}
		assert_true(order_finish(t.order, t.now_ns, &t.err));
		tear_down(state);
		assert_int_equal(set_up_with(NULL), 0);
	}
}

int main(void) {
#define ONE(name) cmocka_unit_test_setup_teardown(test_##name, set_up, tear_down)
	const struct CMUnitTest tests[] = {
			ONE(follows_numbers_over_rings),
			ONE(wide_events_carry_all_bits),
			ONE(abandoned_wide_events_are_dropped),
			ONE(laps_and_both_rings),
			ONE(numbers_wrap),
			ONE(handlers_events_come_from_behind),
			ONE(handlers_may_move_to_the_big_ring),
			ONE(small_ring_may_grow_late),
			ONE(program_order_holds_without_need),
			ONE(stopped_thread_holds_its_region_only),
			ONE(moved_never_overtakes_its_realloc),
			ONE(number_of_a_dead_thread_is_skipped),
			ONE(abandoned_number_is_skipped_once_void),
			ONE(after_long_it_goes_on_by_force),
			ONE(full_parking_lot_stops_rings_not_time),
			ONE(ring_that_waits_is_relieved_in_order),
			ONE(a_region_may_have_millions_of_numbers_out),
			ONE(looking_ahead_does_not_put_off_a_proof),
			ONE(tangled_reallocs_of_a_handler_come_to_an_end),
			ONE(slots_are_given_back),
			ONE(tid_that_comes_again_ends_the_old_thread),
			ONE(images_follow_each_other),
			ONE(rings_are_merged_by_label),
			ONE(labels_of_the_future_wait_or_are_cut),
			ONE(owner_that_waits_is_told),
			ONE(refusal_of_the_sink_is_passed_on),
			ONE(end_takes_what_is_left),
			ONE(random_plays_come_out_in_order),
			ONE(scribbled_memory_does_no_harm),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
