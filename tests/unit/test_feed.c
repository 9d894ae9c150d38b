// SPDX-License-Identifier: MIT
#include "engine/feed.h"
#include "one_core.h"

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
	struct aggregate *a = aggregate_create(NULL);
	assert_non_null(a);
	return a;
}

#define ASSERT_SAME_ROWS(a, b, table)                           \
	do {                                                        \
		assert_int_equal((a)->table.n, (b)->table.n);           \
		assert_memory_equal((a)->table.items, (b)->table.items, \
				(a)->table.n * sizeof *(a)->table.items);       \
	} while (0)

static void assert_same(const struct aggregate *a, const struct aggregate *b, uint64_t now_ns) {
	struct recording x = {0}, y = {0};
	aggregate_snapshot(a, now_ns, &x);
	aggregate_snapshot(b, now_ns, &y);
	assert_memory_equal(&x.summary, &y.summary, sizeof x.summary);
	assert_memory_equal(&x.quality, &y.quality, sizeof x.quality);
	ASSERT_SAME_ROWS(&x, &y, stacks);
	ASSERT_SAME_ROWS(&x, &y, edges);
	ASSERT_SAME_ROWS(&x, &y, intervals);
	ASSERT_SAME_ROWS(&x, &y, sizes);
	ASSERT_SAME_ROWS(&x, &y, threads);
	ASSERT_SAME_ROWS(&x, &y, handovers);
	recording_finish(&x);
	recording_finish(&y);
}

/** The same events through a feed, drained now and then, and straight. */
static void pass_if_full(struct feed *f) {
	if (feed_is_full(f)) {
		feed_pass(f);
	}
}

static void feed_and_compare(size_t n, unsigned seed) {
	struct aggregate *fed = new_aggregate(), *straight = new_aggregate();
	struct feed f;
	feed_init(&f, fed);
	srand(seed);
	for (size_t i = 0; i < n; i++) {
		struct trace_event e = random_event();
		aggregate_events(straight, &e, 1);
		*feed_next(&f) = e;
		pass_if_full(&f);
		if (rand() % 20000 == 0) {
			feed_drain(&f);
			assert_int_equal(aggregate_now(fed).live_bytes, aggregate_now(straight).live_bytes);
		}
	}
	feed_drain(&f);
	assert_same(fed, straight, 2000);
	feed_finish(&f);
	aggregate_destroy(straight);
}

static void test_the_order_is_that_of_the_calls(void **state) {
	(void)state;
	static const size_t sizes[] = {0, 1, FEED_BATCH - 1, FEED_BATCH, FEED_BATCH + 1,
			20 * FEED_BATCH, 100 * FEED_BATCH + 7};
	for (unsigned i = 0; i < sizeof sizes / sizeof *sizes; i++) {
		feed_and_compare(sizes[i], i);
	}
	cpu_set_t cores = take_one_core(); // there no thread applies events
	feed_and_compare(20 * FEED_BATCH, 77);
	take_cores_back(&cores);
}

/** After a drain the aggregate may be exchanged, as for a program that was attached to. */
static void test_another_aggregate(void **state) {
	(void)state;
	struct feed f;
	struct aggregate *first = new_aggregate();
	feed_init(&f, first);
	for (int round = 1; round <= 2; round++) {
		for (int i = 1; i <= 3 * FEED_BATCH; i++) {
			*feed_next(&f) = (struct trace_event){.kind = TRACE_ALLOC,
					.ptr = (uint64_t)i * 16,
					.size = 1,
					.node = 1};
			pass_if_full(&f);
		}
		feed_drain(&f);
		assert_int_equal(aggregate_now(f.aggregate).allocations, 3 * FEED_BATCH);
		aggregate_destroy(f.aggregate);
		f.aggregate = new_aggregate();
	}
	feed_finish(&f);
}

static void test_left_in_the_middle(void **state) {
	(void)state;
	struct feed f;
	struct aggregate *a = new_aggregate();
	feed_init(&f, a);
	for (int i = 1; i <= 10 * FEED_BATCH + 5; i++) {
		*feed_next(&f) = (struct trace_event){.kind = TRACE_ALLOC,
				.ptr = (uint64_t)i * 16,
				.size = 1,
				.node = 1};
		pass_if_full(&f);
	}
	feed_finish(&f); // which loses what is left
	feed_finish(NULL);
	feed_finish(&(struct feed){0});
}

// ---- as the collector uses it: batches of any size, now and then without the thread

enum { N_NODES = 12, N_THREADS = 8 };

static struct trace_event event_of_threads(uint32_t n_threads, uint64_t *now_ns) {
	static const enum trace_event_kind kinds[] = {TRACE_ALLOC, TRACE_ALLOC, TRACE_FREE, TRACE_FREE,
			TRACE_REALLOC, TRACE_MOVED, TRACE_STAYED};
	struct trace_event e = {.kind = kinds[(size_t)rand() % 7] & 0xf};
	*now_ns += (uint64_t)rand() % 3000;
	e.time_ns = *now_ns;
	e.thread = (uint32_t)rand() % (n_threads + 1) & TRACE_THREAD_MAX;
	e.ptr = 16 * (1 + (uint64_t)rand() % N_BLOCKS);
	if (e.kind == TRACE_ALLOC || e.kind == TRACE_MOVED) {
		e.size = (uint64_t)rand() % 1000;
		e.node = 1 + (uint32_t)rand() % N_NODES;
	}
	return e;
}

static void apply_straight(struct aggregate *a, const struct trace_event *events, size_t n) {
	aggregate_events(a, events, n);
}

static void feed_threads_and_compare(unsigned seed) {
	struct aggregate *fed = new_aggregate(), *straight = new_aggregate();
	struct feed f;
	uint32_t n_threads = 0;
	uint64_t now_ns = 0;
	srand(seed);
	feed_init(&f, fed);
	for (int i = 0; i < 60; i++) {
		size_t n = 1 + (size_t)rand() % FEED_BATCH;
		for (size_t k = 0; k < n; k++) {
			*feed_next(&f) = event_of_threads(n_threads, &now_ns);
		}
		apply_straight(straight, f.events, n);
		(seed % 30 == 0 ? feed_drain : feed_pass)(&f);
		if (rand() % 20 == 0) {
			feed_drain(&f);
			assert_same(fed, straight, now_ns);
		}
		if (n_threads < N_THREADS && rand() % 4 == 0) {
			feed_drain(&f);
			n_threads = aggregate_thread(fed, (uint32_t)i, 1, now_ns);
			assert_int_equal(aggregate_thread(straight, (uint32_t)i, 1, now_ns), n_threads);
		}
	}
	feed_drain(&f);
	assert_same(fed, straight, now_ns);
	feed_finish(&f);
	aggregate_destroy(straight);
}

static void test_threads_of_300_seeds(void **state) {
	(void)state;
	for (unsigned seed = 0; seed < 300; seed++) {
		feed_threads_and_compare(seed);
	}
}

int main(void) {
	const struct CMUnitTest tests[] = {
			cmocka_unit_test(test_the_order_is_that_of_the_calls),
			cmocka_unit_test(test_another_aggregate),
			cmocka_unit_test(test_left_in_the_middle),
			cmocka_unit_test(test_threads_of_300_seeds),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
