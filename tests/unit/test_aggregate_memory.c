// SPDX-License-Identifier: MIT

/**
 * Each allocation of the aggregate is made to fail once. The failing call says so and has digested
 * a prefix of its events; everything is as if the rest had not come yet.
 */

#include "aggregate_world.h"

#include <sys/mman.h>

// The linker's --wrap leads our calls through here; the replay is fed while `is_armed` is false
static bool is_armed;
static uint64_t n_allocations; // while armed
static uint64_t failing;       // this one fails
static uint64_t n_failed;

static bool must_fail(void) {
	bool fails = is_armed && ++n_allocations == failing;
	n_failed += fails;
	return fails;
}

void *__real_malloc(size_t size);
void *__real_calloc(size_t n, size_t size);
void *__real_realloc(void *p, size_t size);
void *__real_mmap(void *at, size_t size, int protection, int flags, int fd, off_t offset);
void *__real_mremap(void *at, size_t old_size, size_t size, int flags);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t n, size_t size);
void *__wrap_realloc(void *p, size_t size);
void *__wrap_mmap(void *at, size_t size, int protection, int flags, int fd, off_t offset);
void *__wrap_mremap(void *at, size_t old_size, size_t size, int flags);

void *__wrap_malloc(size_t size) {
	return must_fail() ? NULL : __real_malloc(size);
}

void *__wrap_calloc(size_t n, size_t size) {
	return must_fail() ? NULL : __real_calloc(n, size);
}

void *__wrap_realloc(void *p, size_t size) {
	return must_fail() ? NULL : __real_realloc(p, size);
}

void *__wrap_mmap(void *at, size_t size, int protection, int flags, int fd, off_t offset) {
	return must_fail() ? MAP_FAILED : __real_mmap(at, size, protection, flags, fd, offset);
}

void *__wrap_mremap(void *at, size_t old_size, size_t size, int flags) {
	return must_fail() ? MAP_FAILED : __real_mremap(at, old_size, size, flags);
}

static void arm(uint64_t number) {
	n_allocations = 0;
	n_failed = 0;
	failing = number;
}

static void creating_fails_cleanly(void **state) {
	(void)state;
	uint64_t n = 0;
	for (bool ok = false; !ok;) {
		arm(++n);
		is_armed = true;
		struct err err = {0};
		struct aggregate *a = aggregate_create(NULL, &err);
		is_armed = false;
		ok = a != NULL;
		assert_true(ok == (n_failed == 0));
		assert_true(ok || err.code == ERR_MEMORY);
		aggregate_destroy(a);
	}
	assert_true(n > 5);
}

/** Feed both sides, the replay with what the aggregate digested. */
static void feed_to_the_end(struct pair *p, const struct trace_event *events, size_t n) {
	for (size_t at = 0; at < n;) {
		size_t done;
		struct err err = {0};
		is_armed = true;
		bool ok = aggregate_events(p->aggregate, events + at, n - at, &done, &err);
		is_armed = false;
		assert_true(ok ? done == n - at : err.code == ERR_MEMORY);
		replay_events(p->replay, events + at, done);
		at += done;
		if (!ok) {
			compare(p, 0);
		}
	}
}

static void add_threads(struct aggregate *a, uint32_t n) {
	for (uint32_t i = 1; i <= n;) {
		is_armed = true;
		uint32_t id = aggregate_thread(a, i, 1, 0);
		is_armed = false;
		assert_true(id == i || id == 0);
		i += id == i;
	}
}

static void exec_at_last(struct pair *p, uint64_t now_ns) {
	struct err err = {0};
	is_armed = true;
	bool ok = aggregate_exec(p->aggregate, now_ns, &err);
	is_armed = false;
	if (!ok) {
		assert_int_equal(err.code, ERR_MEMORY);
		assert_true(aggregate_exec(p->aggregate, now_ns, NULL));
	}
	assert_int_equal(aggregate_now(p->aggregate).live_blocks, 0);
}

/** Give how many allocations there were. */
static uint64_t run_once(const struct trace_event *events, size_t n, uint32_t n_threads) {
	static const struct aggregate_limits limits = {.min_bins = 8,
			.max_entries = 1000,
			.max_sizes_per_stack = 4};
	struct pair p = start_pair(&limits, 0);
	add_threads(p.aggregate, n_threads);
	feed_to_the_end(&p, events, n);
	compare(&p, 0);
	exec_at_last(&p, events[n - 1].time_ns);
	finish_pair(&p);
	return n_allocations;
}

static void each_allocation_may_fail(void **state) {
	(void)state;
	enum { N = 6000 };
	struct world w = {
			.random = 4711,
			.n_threads = 40,
			.n_nodes = 3000,
			.n_addresses = 4000,
			.max_step = 20000,
			.is_growing = 65,
			.has_odd_addresses = true,
	};
	static struct trace_event events[N];
	for (size_t i = 0; i < N; i++) {
		events[i] = some_event(&w);
	}
	arm(0);
	uint64_t n = run_once(events, N, w.n_threads);
	assert_true(n > 30);
	for (uint64_t i = 1; i <= n; i++) {
		arm(i);
		(void)run_once(events, N, w.n_threads);
		assert_int_equal(n_failed, 1);
	}
}

static void a_snapshot_may_fail(void **state) {
	(void)state;
	struct world w = {.random = 3,
			.n_threads = 1,
			.n_nodes = 50,
			.n_addresses = 500,
			.max_step = 20000,
			.is_growing = 60};
	struct pair p = start_pair(NULL, 1);
	for (unsigned i = 0; i < 3000; i++) {
		struct trace_event e = some_event(&w);
		feed(&p, &e, 1);
	}
	uint64_t n = 0;
	for (bool ok = false; !ok;) {
		struct recording rec = {0};
		struct err err = {0};
		arm(++n);
		is_armed = true;
		ok = aggregate_snapshot(p.aggregate, w.now, &rec, &err);
		is_armed = false;
		// A log that cannot be merged grows instead: not every failure is one of the call
		ok = ok && n_failed == 0;
		assert_true(n_failed || ok);
		recording_finish(&rec);
	}
	assert_true(n > 8);
	compare(&p, w.now);
	finish_pair(&p);
}

int main(void) {
	const struct CMUnitTest tests[] = {
			cmocka_unit_test(creating_fails_cleanly),
			cmocka_unit_test(each_allocation_may_fail),
			cmocka_unit_test(a_snapshot_may_fail),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
