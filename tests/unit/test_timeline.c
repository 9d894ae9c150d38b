// SPDX-License-Identifier: MIT
#include "engine/breakdown.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

static void pictures_are_as_fine_as_the_curve(void **state) {
	(void)state;
	struct rec_edge curve[] = {
			{.time_ns = 5, .end_ns = 10, .bytes = 50, .allocations = 1},
			{.time_ns = 12, .end_ns = 20, .bytes = 70, .allocations = 3},
			{.time_ns = 25, .end_ns = 30, .bytes = 20, .allocations = 6},
			{.time_ns = 39, .end_ns = 40, .bytes = 60, .allocations = 9},
	};
	struct rec_edge edges[] = {curve[1], curve[3]};
	struct recording r = {.edges = {edges, 2}, .curve = {curve, 4}};
	r.meta.duration_ns = 40;
	r.summary.allocations = 10;
	struct lens l = lens_whole();
	struct lens_result result = {0};
	struct arena arena = {0};
	struct timeline t;
	t = timeline_draw(&l, &r, &result, &arena);
	assert_int_equal(t.n, 5);
	assert_int_equal(t.points[2].bytes, 20);
	assert_int_equal(t.points[4].allocations, 1);
	l.has_range = true;
	l.from = 0;
	l.to = 1;
	t = timeline_draw(&l, &r, &result, &arena);
	assert_int_equal(t.n, 2);
	assert_int_equal(t.points[0].time_ns, 25);
	assert_int_equal(t.points[0].allocations + t.points[1].allocations, 6);
	arena_finish(&arena);
}

int main(void) {
	const struct CMUnitTest tests[] = {
			cmocka_unit_test(pictures_are_as_fine_as_the_curve),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
