// SPDX-License-Identifier: MIT
#include "order_world.h"

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

int main(void) {
	const struct CMUnitTest tests[] = {
			ORDER_TEST(follows_numbers_over_rings),
			ORDER_TEST(wide_events_carry_all_bits),
			ORDER_TEST(abandoned_wide_events_are_dropped),
			ORDER_TEST(laps_and_both_rings),
			ORDER_TEST(numbers_wrap),
			ORDER_TEST(handlers_events_come_from_behind),
			ORDER_TEST(handlers_may_move_to_the_big_ring),
			ORDER_TEST(small_ring_may_grow_late),
			ORDER_TEST(program_order_holds_without_need),
			ORDER_TEST(stopped_thread_holds_its_region_only),
			ORDER_TEST(moved_never_overtakes_its_realloc),
			ORDER_TEST(number_of_a_dead_thread_is_skipped),
			ORDER_TEST(abandoned_number_is_skipped_once_void),
			ORDER_TEST(after_long_it_goes_on_by_force),
			ORDER_TEST(full_parking_lot_stops_rings_not_time),
			ORDER_TEST(ring_that_waits_is_relieved_in_order),
			ORDER_TEST(a_region_may_have_millions_of_numbers_out),
			ORDER_TEST(looking_ahead_does_not_put_off_a_proof),
			ORDER_TEST(tangled_reallocs_of_a_handler_come_to_an_end),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
