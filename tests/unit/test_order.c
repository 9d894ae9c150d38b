// SPDX-License-Identifier: MIT
#include "order_world.h"

static void test_follows_stamps_over_rings(void **state) {
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
	for (unsigned i = 0; i < RING_SMALL_ENTRIES - 2; i++) {
		emit(&w, KIND_ALLOC, page(3), i);
	}
	(void)round_now();
	t.n_row = 0;
	emit(&w, KIND_ALLOC, 0x7edcba9876543217u, UINT64_C(1) << 58);
	emit(&w, KIND_ALLOC, page(3), WIRE_SIZE_WIDE - 1);
	emit(&w, KIND_FREE, 0x7edcba9876543217u, 0);
	(void)round_now();
	ASSERT_ROW(0x7edcba9876543217u, page(3), 0x7edcba9876543217u);
	assert_int_equal(t.row[0].size, UINT64_C(1) << 58);
	assert_int_equal(t.row[1].size, WIRE_SIZE_WIDE - 1);
	assert_int_equal(order_counts(t.order).bad_entries, 0);
}

static void test_addresses_of_48_bits(void **state) {
	(void)state;
	struct writer w = join(1);
	const uint64_t least = 1ull << 47, most = (1ull << 48) - 16;
	uint64_t n_before = atomic_load(&w.slot->rings[RING_SMALL].reserved);
	emit(&w, KIND_ALLOC, least, 1);
	emit(&w, KIND_ALLOC, most, WIRE_SIZE_WIDE - 1);
	emit(&w, KIND_FREE, least, 0);
	emit(&w, KIND_REALLOC, most, 0);
	emit(&w, KIND_MOVED, 0xffffa0000010, 5);
	assert_true(atomic_load(&w.slot->rings[RING_SMALL].reserved) - n_before < 2 * 5);
	emit(&w, KIND_FREE, most + 16, 0);
	(void)round_now();
	ASSERT_ROW(least, most, least, most, 0xffffa0000010, most + 16);
	assert_int_equal(t.row[1].size, WIRE_SIZE_WIDE - 1);
	assert_int_equal(order_counts(t.order).bad_entries, 0);
}

static void test_unknown_kinds_are_counted(void **state) {
	(void)state;
	struct writer w = join(1);
	emit(&w, KIND_ALLOC, page(1), 1);
	emit(&w, 15, page(2), 1); // has no number
	emit(&w, KIND_FREE, page(1), 0);
	(void)round_now();
	ASSERT_ROW(page(1), page(1));
	assert_int_equal(order_counts(t.order).bad_entries, 1);
}

static void test_calls_that_map_come_in_their_place(void **state) {
	(void)state;
	struct writer w = join(1);
	const uint64_t at = 0x7f0000001000;
	const uint32_t sort = wire_map_sort(3, false, WIRE_MAP_STACK), most = (1 << WIRE_MAP_BITS) - 1;
	emit(&w, KIND_ALLOC, page(1), 1);
	emit(&w, KIND_MAP, at | wire_map_in_ptr(sort), 4096);
	emit(&w, KIND_FREE, page(1), 0);
	emit(&w, KIND_MAP, at | wire_map_in_ptr(most), 1ull << 40); // with a prefix
	emit(&w, KIND_CHANGED, at, 8192);
	emit(&w, KIND_UNMAP, at, 1ull << 40);
	(void)round_now();
	ASSERT_ROW(page(1), at | sort, page(1), at | most, at, at);
	const uint32_t kinds[] = {KIND_ALLOC, KIND_MAP, KIND_FREE, KIND_MAP, KIND_CHANGED, KIND_UNMAP};
	for (unsigned i = 0; i < 6; i++) {
		assert_int_equal(t.row[i].kind, kinds[i]);
	}
	assert_int_equal(t.row[3].size, 1ull << 40);
	assert_int_equal(order_counts(t.order).mappings, 4);
	assert_int_equal(order_counts(t.order).events, 2);
	struct writer_event bare = writer_begin(&w, KIND_UNMAP, at, false);
	writer_publish(&w, &bare, WIRE_SIZE_WIDE, 0); // its prefix is missing
	(void)round_now();
	assert_int_equal(order_counts(t.order).bad_entries, 1);
}

static void test_abandoned_wide_events_are_dropped(void **state) {
	(void)state;
	struct writer w = join(1);
	struct writer_event e = writer_reserve(&w, KIND_ALLOC, page(1), true);
	// Left between the prefix and the event
	atomic_store(&e.entries[0]->head, wire_wide_head(e.phases[0], page(1)));
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
	assert_int_equal(order_counts(t.order).late, 0);
}

/** 5000 events of two that take turns. */
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

static void test_stamps_are_whole_again_and_again(void **state) {
	(void)state;
	struct writer a = join(1), b = join(2);
	const uint64_t step = 1ull << (WIRE_STAMP_BITS - 1);
	for (uint64_t i = 0; i < 40; i++) {
		// As if so many had passed
		atomic_store(&t.segment.header->common.stamp, STAMPS_COUNTED_FROM + (i + 1) * step - 2600);
		writer_label(&a, t.now_ns += MS);
		writer_label(&b, t.now_ns);
		(void)round_now();
		take_turns(&a, &b);
	}
	assert_int_equal(order_counts(t.order).late, 0);
	assert_int_equal(order_counts(t.order).bad_entries, 0);
}

static void test_events_without_stamps_are_the_oldest(void **state) {
	(void)state;
	struct writer a = join(1), b;
	atomic_store(&a.slot->rings[RING_SMALL].reserved, 0); // as if its whole stamp were not there
	for (unsigned i = 0; i < 10; i++) {
		struct writer_event e = writer_reserve(&a, KIND_ALLOC, page(i), false);
		e.stamp = 0;
		writer_publish(&a, &e, i, 0);
	}
	b = join(2);
	emit(&b, KIND_FREE, page(3), 0);
	(void)round_now();
	assert_int_equal(t.n_row, 11);
	assert_int_equal(t.row[10].kind, TRACE_FREE);
	assert_int_equal(order_counts(t.order).late, 0);
}

static void test_handlers_behind_a_hook_wait_for_it(void **state) {
	(void)state;
	struct writer a = join(1), b = join(2);
	struct writer_event hook = writer_begin(&a, KIND_ALLOC, page(1), false);
	emit(&a, KIND_ALLOC, page(2), 0); // a handler's
	emit(&b, KIND_FREE, page(2), 0);
	(void)round_now();
	assert_int_equal(t.n_row, 0);
	writer_publish(&a, &hook, 0, 0);
	(void)round_now();
	ASSERT_ROW(page(1), page(2), page(2));
	assert_int_equal(t.row[1].thread, t.row[0].thread);
}

static void test_handlers_before_a_stamp_come_first(void **state) {
	(void)state;
	struct writer a = join(1), b = join(2);
	struct writer_event hook = writer_reserve(&a, KIND_ALLOC, page(1), true);
	emit(&a, KIND_ALLOC, page(2), 0);
	emit(&b, KIND_FREE, page(2), 0);
	writer_stamp(&a, &hook);
	writer_publish(&a, &hook, 0, 0);
	emit(&b, KIND_FREE, page(1), 0);
	(void)round_now();
	ASSERT_ROW(page(2), page(2), page(1), page(1));
	assert_int_equal(order_counts(t.order).late, 0);
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

static void fill(struct writer *w, unsigned n) {
	for (unsigned i = 0; i < n; i++) {
		assert_true(writer_make_room(w, 1, false));
		emit(w, KIND_ALLOC, page(2), i);
	}
}

static void test_older_events_leave_while_a_thread_stands_still(void **state) {
	(void)state;
	struct writer a = join(1), b = join(2);
	emit(&b, KIND_ALLOC, page(1), 0);
	(void)round_now();
	emit(&b, KIND_ALLOC, page(2), 0);
	emit(&a, KIND_ALLOC, page(3), 0);
	struct writer_event slow = writer_begin(&a, KIND_ALLOC, page(4), false);
	emit(&b, KIND_ALLOC, page(5), 0);
	(void)round_now();
	ASSERT_ROW(page(1), page(2), page(3));
	writer_publish(&a, &slow, 0, 0);
	(void)round_now();
	ASSERT_ROW(page(1), page(2), page(3), page(4), page(5));
}

static void test_who_runs_is_waited_for(void **state) {
	(void)state;
	t.is_running = true;
	struct writer a = join(1), b = join(2);
	struct writer_event slow = writer_begin(&a, KIND_ALLOC, page(1), false);
	fill(&b, 10000);
	rounds(9000, MS);
	assert_int_equal(t.n_row, 0);
	writer_publish(&a, &slow, 0, 0);
	(void)round_now();
	assert_int_equal(t.n_row, 10001);
	assert_int_equal(t.row[0].ptr, page(1));
	assert_int_equal(order_counts(t.order).late, 0);
}

static void test_who_sleeps_is_waited_for_as_long_as_there_is_room(void **state) {
	(void)state;
	struct writer a = join(1), b = join(2);
	struct writer_event slow = writer_begin(&a, KIND_ALLOC, page(1), false);
	emit(&a, KIND_ALLOC, page(4), 0); // a handler's
	fill(&b, 100);
	rounds(1000, MS);
	assert_int_equal(t.n_row, 0);
	fill(&b, 10000);
	rounds(50, MS);
	assert_int_equal(t.n_row, 10100 + 1);
	assert_int_equal(order_counts(t.order).forced, 1);
	assert_int_equal(order_counts(t.order).looked_behind, 1);
	emit(&b, KIND_FREE, page(2), 0);
	rounds(2, MS);
	assert_int_equal(t.n_row, 10102);
	writer_publish(&a, &slow, 0, 0);
	(void)round_now();
	assert_int_equal(t.n_row, 10103);
	assert_int_equal(t.row[10102].ptr, page(1));
	assert_int_equal(order_counts(t.order).late, 2);
	assert_int_equal(t.n_late, 2);
	// From now on it is waited for again
	slow = writer_begin(&a, KIND_ALLOC, page(1), false);
	emit(&b, KIND_FREE, page(1), 0);
	(void)round_now();
	assert_int_equal(t.n_row, 10103);
	writer_publish(&a, &slow, 0, 0);
	(void)round_now();
	assert_int_equal(t.n_row, 10105);
}

static void test_after_long_it_goes_on_by_force(void **state) {
	(void)state;
	t.is_running = true;
	struct writer a = join(1), b = join(2);
	struct writer_event slow = writer_begin(&a, KIND_ALLOC, page(1), false);
	emit(&b, KIND_ALLOC, page(2), 1);
	rounds(9000, MS);
	assert_int_equal(t.n_row, 0);
	rounds(2000, MS);
	ASSERT_ROW(page(2));
	assert_int_equal(order_counts(t.order).forced, 1);
	writer_publish(&a, &slow, 2, 0);
	(void)round_now();
	ASSERT_ROW(page(2), page(1));
	assert_int_equal(order_counts(t.order).late, 1);
	assert_int_equal(t.n_late, 1);
}

static void test_entry_of_a_dead_thread_is_passed(void **state) {
	(void)state;
	t.is_running = true;
	struct writer a = join(1), b = join(2);
	emit(&a, KIND_ALLOC, page(2), 0);
	(void)writer_begin(&a, KIND_ALLOC, page(1), false);
	emit(&b, KIND_ALLOC, page(1), 1);
	rounds(100, MS);
	assert_int_equal(t.n_row, 1);
	t.dead_tid[0] = 1;
	rounds(100, MS);
	ASSERT_ROW(page(2), page(1));
	struct order_counts c = order_counts(t.order);
	assert_int_equal(c.unpublished, 1);
	assert_int_equal(c.forced, 0);
	assert_int_equal(t.n_ended, 1);
}

static void test_abandoned_entry_is_passed_once_void(void **state) {
	(void)state;
	struct writer a = join(1), b = join(2);
	(void)writer_begin(&a, KIND_ALLOC, page(1), false);
	emit(&b, KIND_ALLOC, page(1), 1);
	rounds(90, MS);
	assert_int_equal(t.n_row, 0);
	assert_int_equal(writer_recover(&a), 1);
	(void)round_now();
	ASSERT_ROW(page(1));
}

/** A thread stands still while many others go on, one after the other, until their rings are full. */
static void test_millions_of_events_may_wait(void **state) {
	enum { N_OTHERS = 140, N_EACH = 16000 };
	tear_down(state);
	assert_int_equal(set_up_slots(256, NULL), 0);
	t.is_running = true;
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
	order_finish(t.order, t.now_ns);
	assert_int_equal(t.n_all, N_OTHERS * N_EACH + 1);
	assert_int_equal(t.n_misplaced, 0);
}

static void test_a_clock_that_goes_back_is_given_up(void **state) {
	(void)state;
	struct writer a = join(1);
	atomic_store(&t.segment.header->common.stamps, STAMPS_CLOCK);
	(void)round_now();
	assert_int_equal(atomic_load(&t.segment.header->common.stamps), STAMPS_CLOCK);
	t.order->settled = 1ull << 61; // as if it had been as late as that
	(void)round_now();
	assert_int_equal(atomic_load(&t.segment.header->common.stamps), STAMPS_COUNTED);
	emit(&a, KIND_ALLOC, page(1), 0);
	rounds(3, MS);
	ASSERT_ROW(page(1));
	assert_int_equal(order_counts(t.order).late, 0);
}

/** From the clock to the counter: what read the clock before is older, and late only if it was seen late. */
static void test_the_clock_is_given_up(void **state) {
	(void)state;
	struct writer a = join(1), b = join(2);
	atomic_store(&t.segment.header->common.stamps, STAMPS_CLOCK);
	atomic_store(&t.segment.header->common.stamp, 0);
	atomic_store(&a.slot->rings[RING_SMALL].reserved, 0);
	struct writer_event e = writer_reserve(&a, KIND_ALLOC, page(1), false);
	e.stamp = 0;
	writer_publish(&a, &e, 0, 0);
	(void)round_now();
	ASSERT_ROW(page(1));
	atomic_store(&t.segment.header->common.stamp, STAMPS_COUNTED_FROM);
	atomic_store(&t.segment.header->common.stamps, STAMPS_COUNTED);
	emit(&b, KIND_FREE, page(1), 0);
	(void)round_now();
	ASSERT_ROW(page(1)); // somebody may read the clock yet
	rounds(3, MS);
	ASSERT_ROW(page(1), page(1));
	assert_int_equal(order_counts(t.order).bad_entries, 0);
}

int main(void) {
	const struct CMUnitTest tests[] = {
			ORDER_TEST(follows_stamps_over_rings),
			ORDER_TEST(wide_events_carry_all_bits),
			ORDER_TEST(addresses_of_48_bits),
			ORDER_TEST(unknown_kinds_are_counted),
			ORDER_TEST(calls_that_map_come_in_their_place),
			ORDER_TEST(abandoned_wide_events_are_dropped),
			ORDER_TEST(laps_and_both_rings),
			ORDER_TEST(stamps_are_whole_again_and_again),
			ORDER_TEST(events_without_stamps_are_the_oldest),
			ORDER_TEST(handlers_behind_a_hook_wait_for_it),
			ORDER_TEST(handlers_before_a_stamp_come_first),
			ORDER_TEST(small_ring_may_grow_late),
			ORDER_TEST(older_events_leave_while_a_thread_stands_still),
			ORDER_TEST(who_runs_is_waited_for),
			ORDER_TEST(who_sleeps_is_waited_for_as_long_as_there_is_room),
			ORDER_TEST(after_long_it_goes_on_by_force),
			ORDER_TEST(entry_of_a_dead_thread_is_passed),
			ORDER_TEST(abandoned_entry_is_passed_once_void),
			ORDER_TEST(millions_of_events_may_wait),
			ORDER_TEST(a_clock_that_goes_back_is_given_up),
			ORDER_TEST(the_clock_is_given_up),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
