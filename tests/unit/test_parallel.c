// SPDX-License-Identifier: MIT
#include "base/parallel.h"
#include "one_core.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

enum { N = 100003 };

struct sums {
	unsigned n_parts;
	unsigned n_calls[PARALLEL_MOST];
	uint8_t met[N]; // how often each number was
};

static void meet(void *user, unsigned part) {
	struct sums *s = user;
	s->n_calls[part]++;
	uint64_t end = parallel_begin(N, s->n_parts, part + 1);
	for (uint64_t i = parallel_begin(N, s->n_parts, part); i < end; i++) {
		s->met[i]++;
	}
}

static void does_each_part_once(void **state) {
	(void)state;
	static struct sums s;
	for (unsigned n = 1; n <= PARALLEL_MOST; n++) {
		memset(&s, 0, sizeof s);
		s.n_parts = n;
		parallel_run(n, meet, &s);
		for (unsigned i = 0; i < PARALLEL_MOST; i++) {
			assert_int_equal(s.n_calls[i], i < n);
		}
		for (size_t i = 0; i < N; i++) {
			assert_int_equal(s.met[i], 1);
		}
	}
}

static void parts_of_the_largest_work_are_in_order(void **state) {
	(void)state;
	for (unsigned n = 1; n <= PARALLEL_MOST; n++) {
		assert_int_equal(parallel_begin(UINT64_MAX, n, 0), 0);
		assert_true(parallel_begin(UINT64_MAX, n, n) == UINT64_MAX);
		for (unsigned i = 0; i < n; i++) {
			assert_true(parallel_begin(UINT64_MAX, n, i) < parallel_begin(UINT64_MAX, n, i + 1));
			assert_true(parallel_begin(3, n, i) <= parallel_begin(3, n, i + 1));
		}
	}
}

static void makes_no_more_parts_than_cores_and_work(void **state) {
	(void)state;
	cpu_set_t all;
	assert_int_equal(sched_getaffinity(0, sizeof all, &all), 0);
	unsigned n_cores = (unsigned)CPU_COUNT(&all);
	unsigned most = n_cores < PARALLEL_MOST ? n_cores : PARALLEL_MOST;
	assert_int_equal(parallel_parts(UINT64_MAX, 1), most);
	assert_int_equal(parallel_parts(UINT64_MAX, 0), most);
	assert_int_equal(parallel_parts(0, 10), 1);
	assert_int_equal(parallel_parts(19, 10), 1);
	assert_int_equal(parallel_parts(20, 10), n_cores > 1 ? 2 : 1);
	(void)take_one_core();
	assert_int_equal(parallel_parts(UINT64_MAX, 1), 1);
	take_cores_back(&all);
}

int main(void) {
	const struct CMUnitTest tests[] = {
			cmocka_unit_test(does_each_part_once),
			cmocka_unit_test(parts_of_the_largest_work_are_in_order),
			cmocka_unit_test(makes_no_more_parts_than_cores_and_work),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
