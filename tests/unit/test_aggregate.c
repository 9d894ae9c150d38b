// SPDX-License-Identifier: MIT

/* The aggregate against the slow replay on random events, and its limits. */

#include "aggregate_world.h"
#include "engine/aggregate/state.h"

static void run(struct world w, const struct aggregate_limits *limits, size_t n_events,
		unsigned n_compared) {
	struct pair p = start_pair(limits, w.n_threads);
	struct trace_event *events = calloc(n_events, sizeof *events);
	assert_non_null(events);
	for (size_t i = 0; i < n_events; i++) {
		if (i % 1000 == 0) {
			w.is_growing = 35 + (unsigned)below(&w, 45); // seasons
		}
		events[i] = i == 0 ? some_event(&w) : next_event(&w, &events[i - 1]);
	}
	size_t at = 0;
	for (unsigned k = 1; k <= n_compared; k++) {
		size_t end = n_events * k / n_compared;
		while (at < end) {
			size_t n = 1 + below(&w, 700);
			n = n < end - at ? n : end - at;
			feed(&p, events + at, n);
			at += n;
		}
		compare(&p, w.now);
		if (k % 4 == 0) {
			uint32_t thread = 1 + (uint32_t)below(&w, w.n_threads);
			uint64_t label = events[at - 1].time_ns;
			aggregate_thread_ended(p.aggregate, thread, label);
			replay_thread_ended(p.replay, thread, label);
		}
		if (k % 7 == 0) {
			uint64_t label = events[at - 1].time_ns;
			aggregate_exec(p.aggregate, label);
			replay_exec(p.replay, label);
			compare(&p, label);
		}
	}
	free(events);
	finish_pair(&p);
}

static const struct world a_world = {
		.n_threads = 4,
		.n_nodes = 50,
		.n_addresses = 300,
		.max_step = 5000,
		.has_odd_addresses = true,
		.has_huge_sizes = true,
		.has_wrong_times = true,
};

static const struct aggregate_limits small_limits = {
		.min_bins = 8,
		.max_entries = 1 << 20,
		.max_sizes_per_stack = 4,
};

/** How often: AGGREGATE_SEEDS in the environment, for a longer run. */
static uint64_t n_seeds(void) {
	const char *text = getenv("AGGREGATE_SEEDS");
	return text ? strtoull(text, NULL, 10) : 20;
}

static void agrees_on_random_events(void **state) {
	(void)state;
	for (uint64_t seed = 1; seed <= n_seeds(); seed++) {
		struct world w = a_world;
		w.random = seed * 0x9e3779b97f4a7c15;
		w.n_threads = 1 + (uint32_t)(seed % 7);
		w.n_nodes = 1 + (uint32_t)(seed * 37 % 300);
		w.n_addresses = 4 + (uint32_t)(seed * 101 % 3000);
		w.max_step = 1 + seed * seed * 997 % 200000;
		w.passes = (unsigned)(seed * 31 % 100);
		w.stays = (unsigned)(seed * 17 % 101);
		run(w, seed % 2 ? NULL : &small_limits, 5000 + seed * 331 % 5000,
				1 + (unsigned)(seed % 23));
	}
}
// ---- limits

static void times_may_be_anything(void **state) {
	(void)state;
	static const uint64_t times[] = {0, 131071, 131072, 131073, 1ull << 40, 5,
			(1ull << 40) + 262144, 1ull << 55, (1ull << 62) - 1};
	struct pair p = start_pair(NULL, 1);
	for (size_t i = 0; i < sizeof times / sizeof *times; i++) {
		for (unsigned k = 0; k < 3; k++) {
			struct trace_event e = alloc_event(times[i], 1, 0x1000 * (i + 1), 10 + i * 7 % 5);
			feed(&p, &e, 1);
			e = other_event(TRACE_FREE, times[i], 1, 0x1000 * (i + 1));
			feed(&p, &e, 1);
		}
		compare(&p, 0);
	}
	const struct trace_event latest = alloc_event(UINT64_MAX, 1, 0x100, 1);
	aggregate_events(p.aggregate, &latest, 1);
	finish_pair(&p);
}

static void edges_stay_between_the_limits(void **state) {
	(void)state;
	struct pair p = start_pair(&small_limits, 1);
	for (uint64_t i = 0; i < 3000; i++) {
		const struct trace_event events[] = {
				alloc_event(i * 100000, 1, 0x10000 + i % 40 * 16, 10 + i * i % 91),
				other_event(TRACE_FREE, i * 100000 + 50, 1, 0x10000 + i * 7 % 40 * 16),
		};
		feed(&p, events, 2);
		uint32_t n = aggregate_now(p.aggregate).n_edges;
		assert_true(n <= 2 * small_limits.min_bins + 1);
		assert_true(i < 100 || n >= small_limits.min_bins);
	}
	compare(&p, 0);
	finish_pair(&p);
}

static void intervals_stay_near_their_limit(void **state) {
	(void)state;
	const struct aggregate_limits limits = {.min_bins = 512,
			.max_entries = 5000,
			.max_sizes_per_stack = 64};
	struct world w = a_world;
	w.random = 77;
	w.n_nodes = 400;
	w.n_addresses = 2000;
	w.max_step = 100000;
	w.is_growing = 50;
	struct pair p = start_pair(&limits, w.n_threads);
	uint64_t most = 0;
	for (unsigned i = 0; i < 60000; i++) {
		struct trace_event e = some_event(&w);
		feed(&p, &e, 1);
		struct aggregate_now now = aggregate_now(p.aggregate);
		most = now.n_entries > most ? now.n_entries : most;
	}
	compare(&p, w.now);
	// A period's end may add what its log holds, and two periods pass before the next joining
	assert_true(most < 5000 * 4);
	assert_true(aggregate_now(p.aggregate).n_edges >= 3);
	finish_pair(&p);
}

/** Blocks live for hundreds of periods: joining two brings nothing, many must be joined at once. */
static void many_periods_become_one(void **state) {
	(void)state;
	const struct aggregate_limits limits = {.min_bins = 512,
			.max_entries = 6000,
			.max_sizes_per_stack = 64};
	struct pair p = start_pair(&limits, 1);
	for (uint64_t i = 0; i < 40000; i++) {
		uint64_t at = 0x10000 + i % 3000 * 16;
		struct trace_event events[] = {
				alloc_event(i * 50000 + 9, 1, at, 10 + i * i % 91),
				other_event(TRACE_FREE, i * 50000 + 20, 1, 0x10000 + (i + 1) % 3000 * 16),
		};
		events[0].node = 1 + (uint32_t)(i % 300);
		feed(&p, events, i < 2999 ? 1 : 2);
	}
	compare(&p, 0);
	assert_in_range(aggregate_now(p.aggregate).n_edges, 3, 255);
	finish_pair(&p);
}

/** Each stack at all times: few deaths an interval, so the edges become few and the curve does not. */
static void the_curve_stays_fine(void **state) {
	(void)state;
	const struct aggregate_limits limits = {.min_bins = 64,
			.max_entries = 4000,
			.max_sizes_per_stack = 64};
	struct pair p = start_pair(&limits, 1);
	for (uint64_t i = 0; i < 30000; i++) {
		uint64_t at = 0x10000 + i % 300 * 16;
		struct trace_event events[] = {
				other_event(TRACE_FREE, i * 40000, 1, at),
				alloc_event(i * 40000 + 9, 1, at, 10 + i * i % 91),
		};
		events[1].node = 1 + (uint32_t)(i % 300);
		feed(&p, events, 2);
	}
	compare(&p, 0);
	struct recording rec = {0};
	aggregate_snapshot(p.aggregate, 0, &rec);
	assert_in_range(rec.edges.n, 3, 32);
	assert_in_range(rec.curve.n, limits.min_bins, 2 * limits.min_bins + 1);
	for (uint32_t i = 0, k = 0; i < rec.edges.n; i++) {
		while (k < rec.curve.n && rec.curve.items[k].time_ns < rec.edges.items[i].time_ns) {
			k++;
		}
		assert_true(k < rec.curve.n);
		assert_int_equal(rec.curve.items[k].time_ns, rec.edges.items[i].time_ns);
		assert_int_equal(rec.curve.items[k].bytes, rec.edges.items[i].bytes);
	}
	recording_finish(&rec);
	finish_pair(&p);
}

static void epochs_may_run_out(void **state) {
	(void)state;
	struct world w = a_world;
	w.random = 99;
	struct pair p = start_pair(NULL, w.n_threads);
	for (unsigned i = 0; i < 20000; i++) {
		w.is_growing = i / 500 % 2 ? 30 : 70;
		if (i % 5000 == 2500) {
			// As if there had been four thousand million peaks
			uint32_t skipped = UINT32_MAX - BATCH - p.aggregate->epoch;
			for (uint32_t k = 0; k < p.aggregate->stacks.n; k++) {
				p.aggregate->stacks.items[k].epoch += skipped;
			}
			for (size_t k = 0; k < p.aggregate->threads.records.n; k++) {
				p.aggregate->threads.records.items[k].epoch += skipped;
			}
			p.aggregate->epoch += skipped;
		}
		struct trace_event e = some_event(&w);
		feed(&p, &e, 1);
		if (i % 500 == 0) {
			compare(&p, w.now);
		}
	}
	assert_true(p.aggregate->epoch < 100000);
	finish_pair(&p);
}

/** Many short threads: the table is bounded, the sums are exact. */
static void short_threads_are_merged(void **state) {
	(void)state;
	enum { N_THREADS = 30000 };
	struct pair p = start_pair(NULL, 1);
	for (uint32_t i = 2; i < N_THREADS; i++) {
		assert_int_equal(aggregate_thread(p.aggregate, i, 1, i), i);
		aggregate_thread_name(p.aggregate, i, i % 3);
		uint64_t ptr = 0x100000 + (uint64_t)i % 5000 * 32;
		const struct trace_event events[] = {
				other_event(TRACE_FREE, i, i, ptr), // of a thread that ended long ago
				alloc_event(i, i, ptr, i % 1000 == 0 ? 100000 : 16),
				other_event(TRACE_FREE, i, i - 1, 0x100000 + (uint64_t)(i - 1) % 5000 * 32 + 8),
				alloc_event(i, i, ptr + 16, 100),
				other_event(TRACE_FREE, i, 1, ptr + 16),
		};
		feed(&p, events, 5);
		aggregate_thread_ended(p.aggregate, i, i);
	}
	compare(&p, N_THREADS);
	struct recording rec = {0};
	aggregate_snapshot(p.aggregate, N_THREADS, &rec);
	assert_true(rec.threads.n <= THREADS_MANY + 1);
	uint64_t n_merged = 0;
	uint64_t n_groups = 0;
	for (uint32_t i = 0; i < rec.threads.n; i++) {
		n_merged += rec.threads.items[i].n_merged;
		n_groups += rec.threads.items[i].n_merged > 0;
	}
	assert_int_equal(n_groups, 3);
	assert_int_equal(n_merged + rec.threads.n - n_groups, N_THREADS);
	recording_finish(&rec);
	finish_pair(&p);
}

static void many_names_and_many_pairs_are_bounded(void **state) {
	(void)state;
	enum { N_THREADS = 20000 };
	struct pair p = start_pair(NULL, 0);
	for (uint32_t i = 1; i < N_THREADS; i++) {
		assert_int_equal(aggregate_thread(p.aggregate, i, 1, i), i);
		aggregate_thread_name(p.aggregate, i, i);
		struct trace_event events[20];
		for (unsigned k = 0; k < 10; k++) {
			uint64_t ptr = 0x100000 + ((uint64_t)i * 37 + k * 101) % 5000 * 16;
			events[2 * k] = other_event(TRACE_FREE, i, i, ptr);
			events[2 * k + 1] = alloc_event(i, i, ptr, 16);
		}
		feed(&p, events, 20);
		if (i > 1000) {
			aggregate_thread_ended(p.aggregate, i, i);
		}
	}
	compare(&p, N_THREADS);
	struct recording rec = {0};
	aggregate_snapshot(p.aggregate, N_THREADS, &rec);
	assert_true(rec.threads.n < 2 * THREADS_MANY + THREAD_GROUPS + THREADS_KEPT);
	assert_true(rec.handovers.n <= HANDOVERS_MAX + rec.threads.n);
	uint64_t blocks = 0;
	uint64_t foreign_frees = 0;
	for (uint32_t i = 0; i < rec.handovers.n; i++) {
		blocks += rec.handovers.items[i].blocks;
	}
	for (uint32_t i = 0; i < rec.threads.n; i++) {
		foreign_frees += rec.threads.items[i].foreign_frees;
	}
	assert_int_equal(blocks, foreign_frees);
	recording_finish(&rec);
	finish_pair(&p);
}

/** What threads allocate at one node is told apart, for the first threads. */
static void threads_have_stacks_of_their_own(void **state) {
	(void)state;
	enum { N_THREADS = STACKS_THREADS + 10, N_ROUNDS = 3 };
	struct pair p = start_pair(NULL, N_THREADS);
	for (uint32_t round = 0; round < N_ROUNDS; round++) {
		for (uint32_t i = 1; i <= N_THREADS; i++) {
			struct trace_event e = alloc_event(round * N_THREADS + i, i,
					0x100000 + ((uint64_t)round * N_THREADS + i) * 64, i);
			e.node = 7;
			feed(&p, &e, 1);
		}
	}
	compare(&p, N_ROUNDS * N_THREADS);
	struct recording rec = {0};
	aggregate_snapshot(p.aggregate, N_ROUNDS * N_THREADS, &rec);
	assert_int_equal(rec.stacks.n, STACKS_THREADS + 1);
	for (uint32_t i = 0; i < rec.stacks.n; i++) {
		const struct rec_stack *s = &rec.stacks.items[i];
		bool is_shared = s->thread == 0;
		assert_int_equal(s->node, 7);
		assert_int_equal(s->allocations, is_shared ? 10 * N_ROUNDS : N_ROUNDS);
		assert_true(is_shared || s->allocated_bytes == (uint64_t)s->thread * N_ROUNDS);
	}
	recording_finish(&rec);
	finish_pair(&p);
}

/** With many stacks no more become a thread's own; those that are stay so. */
static void many_stacks_are_shared_from_then_on(void **state) {
	(void)state;
	enum { OWN = 1, SHARED = 0, NEW_NODE = STACKS_BY_THREAD + 1, N_ROUNDS = 3 };
	static const struct {
		uint32_t node, thread, owner;
	} then[] = {{1, 2, 2}, {1, 1, OWN}, {2, 2, SHARED}, {2, 3, SHARED}, {2, 1, OWN}, {1, 3, SHARED},
			{NEW_NODE, 1, SHARED}, {NEW_NODE, 3, SHARED}, {NEW_NODE, 2, SHARED}};
	struct aggregate *a = aggregate_create(NULL);
	for (uint32_t i = 1; i <= 3; i++) {
		assert_int_equal(aggregate_thread(a, i, 1, 0), i);
	}
	uint64_t n = 0;
	for (uint32_t node = 1; node < STACKS_BY_THREAD; node++, n++) {
		struct trace_event e = alloc_event(n, 1, 0x100000 + n * 16, 8);
		e.node = node;
		aggregate_events(a, &e, 1);
	}
	for (uint32_t i = 0; i < N_ROUNDS * N_OF(then); i++, n++) {
		struct trace_event e = alloc_event(n, then[i % N_OF(then)].thread, 0x100000 + n * 16, 8);
		e.node = then[i % N_OF(then)].node;
		aggregate_events(a, &e, 1);
	}
	struct recording rec = {0};
	aggregate_snapshot(a, n, &rec);
	assert_int_equal(rec.stacks.n, STACKS_BY_THREAD + 3);
	for (uint32_t i = 0; i < rec.stacks.n; i++) {
		const struct rec_stack *s = &rec.stacks.items[i];
		uint64_t expected = s->thread == OWN;
		for (size_t k = 0; k < N_OF(then); k++) {
			bool is_it = then[k].node == s->node && then[k].owner == s->thread;
			expected += is_it ? N_ROUNDS : 0;
		}
		assert_int_equal(s->allocations, expected);
	}
	recording_finish(&rec);
	aggregate_destroy(a);
}

/** A stack's node may be any number; a growing program must not pay for what is empty. */
static void memory_is_bounded(void **state) {
	(void)state;
	struct aggregate *a = aggregate_create(NULL);
	assert_non_null(a);
	struct world w = a_world;
	w.random = 5;
	enum { N_LIVE = 200000, N_NODES = 20000, N_EVENTS = 3000000 };
	for (uint64_t i = 0; i < N_EVENTS; i++) {
		uint64_t slot = below(&w, N_LIVE);
		struct trace_event e = alloc_event(i * 100, 0, 0x10000000 + slot * 64, 40);
		e.node = (uint32_t)(i * 2654435761u % N_NODES) * 5;
		if (i >= N_LIVE && i % 2) {
			e = other_event(TRACE_FREE, i * 100, 0, e.ptr);
		}
		aggregate_events(a, &e, 1);
	}
	struct aggregate_now now = aggregate_now(a);
	uint64_t bound = (32u << 20) + (uint64_t)now.n_stacks * 192 + now.live_blocks * 64 +
			now.n_entries * 32;
	assert_true(now.memory_bytes < bound);
	aggregate_destroy(a);
}
int main(void) {
	const struct CMUnitTest tests[] = {
			cmocka_unit_test(times_may_be_anything),
			cmocka_unit_test(edges_stay_between_the_limits),
			cmocka_unit_test(many_periods_become_one),
			cmocka_unit_test(the_curve_stays_fine),
			cmocka_unit_test(intervals_stay_near_their_limit),
			cmocka_unit_test(epochs_may_run_out),
			cmocka_unit_test(threads_have_stacks_of_their_own),
			cmocka_unit_test(many_stacks_are_shared_from_then_on),
			cmocka_unit_test(short_threads_are_merged),
			cmocka_unit_test(many_names_and_many_pairs_are_bounded),
			cmocka_unit_test(memory_is_bounded),
			cmocka_unit_test(agrees_on_random_events),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
