// SPDX-License-Identifier: MIT

/* The rules by which events become costs, one by one, each also compared with the slow replay. */

#include "aggregate_world.h"

static struct trace_event moved_event(uint64_t now, uint32_t thread, uint64_t ptr, uint64_t size) {
	struct trace_event e = alloc_event(now, thread, ptr, size);
	e.kind = TRACE_MOVED;
	return e;
}

/** Digest, compare with the replay, and hand out the recording: the caller finishes it. */
static struct recording outcome_of(const struct trace_event *events, size_t n) {
	struct pair p = start_pair(NULL, 3);
	feed(&p, events, n);
	compare(&p, 0);
	struct recording rec = {0};
	aggregate_snapshot(p.aggregate, 0, &rec);
	finish_pair(&p);
	return rec;
}

static void realloc_never_counts_both_sizes(void **state) {
	(void)state;
	const struct trace_event events[] = {
			alloc_event(10, 1, 0x1000, 100),
			other_event(TRACE_REALLOC, 20, 1, 0x1000),
			moved_event(30, 1, 0x2000, 150),
	};
	struct recording rec = outcome_of(events, 3);
	assert_int_equal(rec.summary.peak_bytes, 150);
	assert_int_equal(rec.summary.peak_blocks, 1);
	assert_int_equal(rec.summary.peak_time_ns, 30);
	assert_int_equal(rec.summary.allocations, 2);
	assert_int_equal(rec.summary.frees, 1);
	assert_int_equal(rec.summary.reallocs, 1);
	assert_int_equal(rec.summary.temporary, 0);
	assert_int_equal(rec.edges.items[0].min_bytes, 0);
	recording_finish(&rec);
}

static void a_failed_realloc_changes_nothing(void **state) {
	(void)state;
	const struct trace_event events[] = {
			alloc_event(10, 1, 0x1000, 100),
			other_event(TRACE_REALLOC, 20, 2, 0x1000),
			other_event(TRACE_STAYED, 30, 2, 0x1000),
			other_event(TRACE_FREE, 40, 1, 0x1000),
	};
	struct recording rec = outcome_of(events, 4);
	assert_int_equal(rec.summary.allocations, 1);
	assert_int_equal(rec.summary.frees, 1);
	assert_int_equal(rec.summary.temporary, 1);
	assert_int_equal(rec.quality.unknown_frees, 0);
	recording_finish(&rec);
}

static void what_is_freed_before_a_long_rest_is_no_part_of_the_rest(void **state) {
	(void)state;
	struct pair p = start_pair(NULL, 3);
	const uint64_t second = 1000000000;
	const struct trace_event events[] = {
			alloc_event(second + 10, 1, 0x1000, 100),
			other_event(TRACE_FREE, second + 20, 1, 0x1000),
	};
	feed(&p, events, 2);
	aggregate_until(p.aggregate, 10 * second);
	const struct trace_event late = alloc_event(9 * second, 1, 0x2000, 7);
	feed(&p, &late, 1);
	struct recording rec = {0};
	aggregate_snapshot(p.aggregate, 10 * second + 5, &rec);
	assert_int_equal(rec.summary.peak_bytes, 100);
	uint32_t n_later = 0;
	for (uint32_t i = 0; i < rec.edges.n; i++) {
		const struct rec_edge *e = &rec.edges.items[i];
		if (e->end_ns > 5 * second) {
			assert_int_equal(e->bytes, e->time_ns < 10 * second ? 0 : 7);
			n_later++;
		}
	}
	assert_true(n_later > 2);
	recording_finish(&rec);
	finish_pair(&p);
}

static void temporary_looks_at_the_allocating_thread_alone(void **state) {
	(void)state;
	const struct trace_event events[] = {
			alloc_event(10, 1, 0x1000, 8), alloc_event(11, 2, 0x2000, 8),
			other_event(TRACE_FREE, 5000000, 2, 0x1000), // thread 1 made no other: temporary
			alloc_event(5000001, 2, 0x3000, 8),
			other_event(TRACE_FREE, 9000000, 1, 0x2000), // thread 2 did: not
	};
	struct recording rec = outcome_of(events, 5);
	assert_int_equal(rec.summary.temporary, 1);
	assert_int_equal(rec.summary.short_lived, 2); // within 16 allocations
	assert_int_equal(rec.threads.items[1].foreign_frees, 1);
	assert_int_equal(rec.handovers.n, 2);
	recording_finish(&rec);
}

static void short_lived_is_16_allocations_or_1_ms(void **state) {
	(void)state;
	for (unsigned n_others = 15; n_others <= 18; n_others++) {
		for (uint64_t life = 999999; life <= 1000001; life++) {
			struct trace_event events[20] = {alloc_event(1, 1, 0x1000, 1)};
			for (unsigned i = 0; i < n_others; i++) {
				events[1 + i] = alloc_event(2 + i, 1, 0x2000 + 16 * i, 1);
			}
			events[1 + n_others] = other_event(TRACE_FREE, 1 + life, 1, 0x1000);
			struct recording rec = outcome_of(events, n_others + 2);
			assert_int_equal(rec.summary.short_lived, n_others <= 16 || life <= 1000000);
			recording_finish(&rec);
		}
	}
}

static void the_first_of_equal_maxima_is_the_peak(void **state) {
	(void)state;
	const struct trace_event events[] = {
			alloc_event(10, 1, 0x1000, 100),
			other_event(TRACE_FREE, 20, 1, 0x1000),
			alloc_event(30, 1, 0x1000, 100),
			other_event(TRACE_FREE, 200000, 1, 0x1000),
			alloc_event(400000, 1, 0x1000, 100),
	};
	struct recording rec = outcome_of(events, 5);
	assert_int_equal(rec.summary.peak_time_ns, 10);
	assert_int_equal(rec.edges.items[0].time_ns, 10);
	recording_finish(&rec);
}

static void missed_frees_are_counted(void **state) {
	(void)state;
	const struct trace_event events[] = {
			alloc_event(10, 1, 0x1000, 100),
			alloc_event(20, 1, 0x1000, 50),
			other_event(TRACE_FREE, 30, 1, 0x5000),
			moved_event(40, 1, 0x6000, 7), // its REALLOC was lost
			other_event(TRACE_REALLOC, 50, 1, 0x7000),
			moved_event(60, 1, 0x8000, 7),
	};
	struct recording rec = outcome_of(events, 6);
	assert_int_equal(rec.quality.double_allocations, 1);
	assert_int_equal(rec.quality.unknown_frees, 3);
	assert_int_equal(rec.summary.live_bytes, 64);
	recording_finish(&rec);
}

/** By numbers of the caller's is the same as by addresses, wrong ones included. */
static void numbers_stand_for_addresses(void **state) {
	(void)state;
	enum { ROUNDS = 200000, BLOCKS = 300 };
	struct world w = {.random = 77};
	struct aggregate *by_number = aggregate_create(NULL);
	struct pair other = start_pair(NULL, 0);
	aggregate_expect_numbers(by_number);
	uint64_t n_used = 0;
	for (int i = 0; i < ROUNDS; i++) {
		uint64_t number = 1 + below(&w, n_used < BLOCKS ? n_used + 1 : BLOCKS);
		bool is_alloc = number > n_used || below(&w, 2);
		n_used = number > n_used ? number : n_used;
		struct trace_event e = {.ptr = number,
				.time_ns = (uint64_t)i * 300,
				.kind = is_alloc ? TRACE_ALLOC : TRACE_FREE,
				.size = is_alloc ? some_size(&w) : 0,
				.node = is_alloc ? 1 + (uint32_t)below(&w, 9) : 0};
		if (!is_alloc && below(&w, 50) == 0) {
			e.ptr = UINT64_MAX - 15; // nobody's
		}
		aggregate_events(by_number, &e, 1);
		e.ptr *= 16;
		feed(&other, &e, 1);
	}
	aggregate_destroy(other.aggregate);
	other.aggregate = by_number;
	compare(&other, (uint64_t)ROUNDS * 300);
	finish_pair(&other);
}

static void a_pending_realloc_is_undone_with_its_thread(void **state) {
	(void)state;
	struct pair p = start_pair(NULL, 2);
	const struct trace_event events[] = {
			alloc_event(10, 1, 0x1000, 100), alloc_event(11, 1, 0x2008, 100),
			other_event(TRACE_REALLOC, 20, 2, 0x1000), other_event(TRACE_REALLOC, 21, 2, 0x2008),
			alloc_event(25, 1, 0x2008, 10), // it was handed out again
	};
	feed(&p, events, 5);
	aggregate_thread_ended(p.aggregate, 2, 30);
	replay_thread_ended(p.replay, 2, 30);
	compare(&p, 30);
	assert_int_equal(aggregate_now(p.aggregate).live_bytes, 110);
	const struct trace_event more[] = {
			other_event(TRACE_FREE, 40, 1, 0x1000),
			other_event(TRACE_FREE, 41, 1, 0x2008),
	};
	feed(&p, more, 2);
	compare(&p, 50);
	assert_int_equal(aggregate_now(p.aggregate).live_bytes, 0);
	finish_pair(&p);
}

/** A detach comes between a realloc that has moved its block and the answer's being recorded. */
static void a_late_answer_of_realloc_is_no_missed_free(void **state) {
	(void)state;
	const struct trace_event events[] = {
			alloc_event(10, 1, 0x1000, 100),
			other_event(TRACE_REALLOC, 20, 1, 0x1000),
			alloc_event(30, 2, 0x1000, 50), // where it was
			other_event(TRACE_STAYED, 40, 1, 0x1000),
	};
	struct recording rec = outcome_of(events, 4);
	assert_int_equal(rec.quality.double_allocations, 0);
	assert_int_equal(rec.summary.live_bytes, 50);
	assert_int_equal(rec.summary.frees, 1);
	recording_finish(&rec);
}

static void an_exec_ends_all_blocks_and_frees_none(void **state) {
	(void)state;
	struct pair p = start_pair(NULL, 2);
	const struct trace_event events[] = {
			alloc_event(10, 1, 0x1000, 100),
			alloc_event(11, 2, 0x2000, 30),
			other_event(TRACE_REALLOC, 12, 2, 0x2000),
	};
	feed(&p, events, 3);
	aggregate_exec(p.aggregate, 20);
	replay_exec(p.replay, 20);
	const struct trace_event after = alloc_event(30, 1, 0x1000, 5);
	feed(&p, &after, 1);
	compare(&p, 40);
	struct recording rec = {0};
	aggregate_snapshot(p.aggregate, 40, &rec);
	assert_int_equal(rec.summary.gone_at_exec, 2);
	assert_int_equal(rec.summary.gone_at_exec_bytes, 130);
	assert_int_equal(rec.summary.frees, 0);
	assert_int_equal(rec.summary.live_bytes, 5);
	assert_int_equal(rec.quality.double_allocations, 0);
	recording_finish(&rec);
	finish_pair(&p);
}

static void a_thread_begins_no_later_than_its_stacks(void **state) {
	(void)state;
	struct pair p = start_pair(NULL, 1);
	uint32_t late = aggregate_thread(p.aggregate, 77, 1, 5000);
	const struct trace_event event = alloc_event(3000, late, 0x1000, 8);
	aggregate_events(p.aggregate, &event, 1);
	struct recording rec = {0};
	aggregate_snapshot(p.aggregate, 6000, &rec);
	const struct rec_thread *thread = &rec.threads.items[rec.stacks.items[0].thread];
	assert_int_equal(thread->tid, 77);
	assert_int_equal(thread->first_ns, 3000);
	recording_finish(&rec);
	finish_pair(&p);
}

static void an_empty_recording_has_one_edge(void **state) {
	(void)state;
	struct recording rec = outcome_of(NULL, 0);
	assert_int_equal(rec.edges.n, 1);
	assert_int_equal(rec.edges.items[0].bytes, 0);
	assert_int_equal(rec.stacks.n, 0);
	recording_finish(&rec);
}

int main(void) {
	const struct CMUnitTest tests[] = {
			cmocka_unit_test(realloc_never_counts_both_sizes),
			cmocka_unit_test(a_failed_realloc_changes_nothing),
			cmocka_unit_test(what_is_freed_before_a_long_rest_is_no_part_of_the_rest),
			cmocka_unit_test(temporary_looks_at_the_allocating_thread_alone),
			cmocka_unit_test(short_lived_is_16_allocations_or_1_ms),
			cmocka_unit_test(the_first_of_equal_maxima_is_the_peak),
			cmocka_unit_test(missed_frees_are_counted),
			cmocka_unit_test(a_late_answer_of_realloc_is_no_missed_free),
			cmocka_unit_test(numbers_stand_for_addresses),
			cmocka_unit_test(a_pending_realloc_is_undone_with_its_thread),
			cmocka_unit_test(an_exec_ends_all_blocks_and_frees_none),
			cmocka_unit_test(a_thread_begins_no_later_than_its_stacks),
			cmocka_unit_test(an_empty_recording_has_one_edge),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
