// SPDX-License-Identifier: MIT

/**
 * The aggregate asks nowhere whether there is memory: where it must be there, the lack of it ends
 * the process. Only the arena of a snapshot may have a limit.
 */

#include "aggregate_world.h"
#include "failing.h"

enum { N_EVENTS = 6000 };
static struct trace_event events[N_EVENTS];
static const uint32_t n_threads = 40;

static void make_events(void) {
	struct world w = {
			.random = 4711,
			.n_threads = n_threads,
			.n_nodes = 3000,
			.n_addresses = 4000,
			.max_step = 20000,
			.is_growing = 65,
			.has_odd_addresses = true,
	};
	for (size_t i = 0; i < N_EVENTS; i++) {
		events[i] = some_event(&w);
	}
}

static struct aggregate *digest(void) {
	const struct aggregate_limits limits = {.min_bins = 8,
			.max_entries = 1000,
			.max_sizes_per_stack = 4};
	struct aggregate *a = aggregate_create(&limits);
	for (uint32_t i = 1; i <= n_threads; i++) {
		(void)aggregate_thread(a, i, 1, 0);
	}
	aggregate_events(a, events, N_EVENTS);
	return a;
}

static void digest_and_write(void) {
	struct aggregate *a = digest();
	struct recording rec = {0};
	(void)aggregate_snapshot(a, events[N_EVENTS - 1].time_ns, &rec, NULL);
	recording_finish(&rec);
	aggregate_exec(a, events[N_EVENTS - 1].time_ns);
	aggregate_destroy(a);
}

static void each_lack_of_memory_ends_the_process(void **state) {
	(void)state;
	make_events();
	assert_true(ends_at_each(digest_and_write) > 40);
}

static void a_snapshot_keeps_to_the_limit_of_its_arena(void **state) {
	(void)state;
	make_events();
	struct aggregate *a = digest();
	size_t limit = 1, n_refused = 0;
	for (bool ok = false; !ok; limit += 64 << 10) {
		struct recording rec = {.arena.max_bytes = limit};
		struct err err = {0};
		ok = aggregate_snapshot(a, events[N_EVENTS - 1].time_ns, &rec, &err);
		assert_true(ok || err.code == ERR_MEMORY);
		assert_true(rec.arena.bytes <= limit);
		n_refused += !ok;
		recording_finish(&rec);
	}
	assert_true(n_refused > 4);
	aggregate_destroy(a);
}

int main(void) {
	const struct CMUnitTest tests[] = {
			cmocka_unit_test(each_lack_of_memory_ends_the_process),
			cmocka_unit_test(a_snapshot_keeps_to_the_limit_of_its_arena),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
