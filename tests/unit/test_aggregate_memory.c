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
	aggregate_snapshot(a, events[N_EVENTS - 1].time_ns, &rec);
	recording_finish(&rec);
	aggregate_exec(a, events[N_EVENTS - 1].time_ns);
	aggregate_destroy(a);
}

static void each_lack_of_memory_ends_the_process(void **state) {
	(void)state;
	make_events();
	assert_true(ends_at_each(digest_and_write) > 40);
}

int main(void) {
	const struct CMUnitTest tests[] = {
			cmocka_unit_test(each_lack_of_memory_ends_the_process),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
