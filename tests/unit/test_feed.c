// SPDX-License-Identifier: MIT
#include "one_core.h"
#include "session/kde/parts.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <cmocka.h>

enum { N_BLOCKS = 500 };

static struct trace_event random_event(void) {
	bool is_alloc = rand() % 2;
	return (struct trace_event){
			.kind = is_alloc ? TRACE_ALLOC : TRACE_FREE,
			.ptr = (1 + (uint64_t)rand() % N_BLOCKS) * 16,
			.size = is_alloc ? (uint64_t)rand() % 100 : 0,
			.node = is_alloc ? 1 + (uint32_t)rand() % 9 : 0,
			.time_ns = 1000,
	};
}

static struct aggregate *new_aggregate(void) {
	struct aggregate *a = aggregate_create(NULL, NULL);
	assert_non_null(a);
	return a;
}

static void assert_same(const struct aggregate *a, const struct aggregate *b) {
	struct recording x = {0}, y = {0};
	assert_true(aggregate_snapshot(a, 2000, &x, NULL));
	assert_true(aggregate_snapshot(b, 2000, &y, NULL));
	assert_memory_equal(&x.summary, &y.summary, sizeof x.summary);
	assert_memory_equal(&x.quality, &y.quality, sizeof x.quality);
	assert_int_equal(x.stacks.n, y.stacks.n);
	for (uint32_t i = 0; i < x.stacks.n; i++) {
		assert_memory_equal(&x.stacks.items[i], &y.stacks.items[i], sizeof *x.stacks.items);
	}
	assert_int_equal(x.intervals.n, y.intervals.n);
	recording_finish(&x);
	recording_finish(&y);
}

/** The same events through a feed, drained now and then, and straight. */
static void feed_and_compare(size_t n, unsigned seed) {
	struct aggregate *fed = new_aggregate(), *straight = new_aggregate();
	struct feed f;
	assert_true(feed_init(&f, fed, NULL));
	srand(seed);
	for (size_t i = 0; i < n; i++) {
		struct trace_event e = random_event();
		size_t done;
		assert_true(aggregate_events(straight, &e, 1, &done, NULL));
		*feed_next(&f) = e;
		assert_true(!feed_is_full(&f) || feed_pass(&f, NULL));
		if (rand() % 20000 == 0) {
			assert_true(feed_drain(&f, NULL));
			assert_int_equal(aggregate_now(fed).live_bytes, aggregate_now(straight).live_bytes);
		}
	}
	assert_true(feed_drain(&f, NULL));
	assert_same(fed, straight);
	feed_finish(&f);
	aggregate_destroy(fed);
	aggregate_destroy(straight);
}

static void test_the_order_is_that_of_the_calls(void **state) {
	(void)state;
	static const size_t sizes[] = {0, 1, FEED_BATCH - 1, FEED_BATCH, FEED_BATCH + 1,
			20 * FEED_BATCH, 100 * FEED_BATCH + 7};
	for (unsigned i = 0; i < sizeof sizes / sizeof *sizes; i++) {
		feed_and_compare(sizes[i], i);
	}
	cpu_set_t cores = take_one_core(); // there no thread digests
	feed_and_compare(20 * FEED_BATCH, 77);
	take_cores_back(&cores);
}

/** After a drain the aggregate may be exchanged, as for a program that was attached to. */
static void test_another_aggregate(void **state) {
	(void)state;
	struct feed f;
	struct aggregate *first = new_aggregate();
	assert_true(feed_init(&f, first, NULL));
	for (int round = 1; round <= 2; round++) {
		for (int i = 1; i <= 3 * FEED_BATCH; i++) {
			*feed_next(&f) = (struct trace_event){.kind = TRACE_ALLOC,
					.ptr = (uint64_t)i * 16,
					.size = 1,
					.node = 1};
			assert_true(!feed_is_full(&f) || feed_pass(&f, NULL));
		}
		assert_true(feed_drain(&f, NULL));
		assert_int_equal(aggregate_now(f.aggregate).allocations, 3 * FEED_BATCH);
		aggregate_destroy(f.aggregate);
		f.aggregate = new_aggregate();
	}
	aggregate_destroy(f.aggregate);
	feed_finish(&f);
}

static void test_left_in_the_middle(void **state) {
	(void)state;
	struct feed f;
	struct aggregate *a = new_aggregate();
	assert_true(feed_init(&f, a, NULL));
	for (int i = 1; i <= 10 * FEED_BATCH + 5; i++) {
		*feed_next(&f) = (struct trace_event){.kind = TRACE_ALLOC,
				.ptr = (uint64_t)i * 16,
				.size = 1,
				.node = 1};
		assert_true(!feed_is_full(&f) || feed_pass(&f, NULL));
	}
	feed_finish(&f);
	aggregate_destroy(a);
	feed_finish(NULL);
	feed_finish(&(struct feed){0});
}

int main(void) {
	const struct CMUnitTest tests[] = {
			cmocka_unit_test(test_the_order_is_that_of_the_calls),
			cmocka_unit_test(test_another_aggregate),
			cmocka_unit_test(test_left_in_the_middle),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
