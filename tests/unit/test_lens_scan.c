// SPDX-License-Identifier: MIT
/* Scans of many intervals: in any order, with numbers of every width. */
#include "engine/call_tree.h"
#include "engine/lens.h"
#include "random_recording.h"

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

static void same(const struct lens_costs *a, const struct lens_costs *b) {
	assert_memory_equal(a, b, sizeof *a);
}

static void running_sums_of_many_stacks_add_up(void **state) {
	(void)state;
	const struct make_options o = {12, 3000, 110000, 40, 150000, 50, 3};
	struct made m = make_recording(&o);
	struct names *n = names_create(&m.r, NULL);
	struct arena arena = {0};
	struct lens l = lens_whole();
	struct lens_result result;
	struct call_tree tree;
	struct tree_costs costs;
	assert_true(lens_apply(&l, &m.r, n, &arena, &result, NULL));
	tree = call_tree_make(&l, &m.r, n, &arena);
	costs = call_tree_costs(&tree, &l, &result, &arena);
	struct lens_costs sum = {0};
	for (uint32_t i = 0; i < tree.n_stacks; i++) {
		same(&costs.before[i], &sum);
		lens_costs_add(&sum, &result.stacks[tree.stacks[i]]);
	}
	struct lens_costs root = call_tree_all(&costs, 0);
	same(&root, &result.total);
	same(&root, &sum);
	arena_finish(&arena);
	names_destroy(n);
	finish_made(&m);
}

/** Those of a stack need not stand together. */
static void intervals_may_lie_in_any_order(void **state) {
	(void)state;
	const struct make_options o = {11, 3000, 2000, 40, 450000, 50, 3};
	struct made m = make_recording(&o);
	struct names *n = names_create(&m.r, NULL);
	struct arena arena = {0};
	struct rec_interval_row *v = m.r.intervals.items;
	struct lens_result ordered = {0};
	for (int round = 0; round < 3; round++) {
		struct lens l = {.has_range = true, .from = 8, .to = 25, .metric = LENS_KEPT};
		struct lens_result all;
		assert_true(lens_apply(&l, &m.r, n, &arena, &all, NULL));
		assert_true(all.total.blocks > 0);
		ordered = round == 0 ? all : ordered;
		same(&all.total, &ordered.total);
		assert_memory_equal(all.stacks, ordered.stacks, m.r.stacks.n * sizeof *all.stacks);
		// One out of place; then the halves of all
		struct rec_interval_row moved = v[round * 100];
		v[round * 100] = v[m.r.intervals.n - 10];
		v[m.r.intervals.n - 10] = moved;
		for (uint32_t i = 0; round == 1 && i < m.r.intervals.n / 2; i++) {
			struct rec_interval_row first = v[i];
			v[i] = v[i + m.r.intervals.n / 2];
			v[i + m.r.intervals.n / 2] = first;
		}
	}
	arena_finish(&arena);
	names_destroy(n);
	finish_made(&m);
}

// ---- numbers of every width

enum { STACKS = 5, EDGES = 7, MANY = 140000 };

/** Few stacks with many intervals each: the first with the largest that are narrow, the last with wide ones. */
static void make_wide(struct made *m) {
	const struct make_options o = {13, 20, STACKS, EDGES, STACKS, 4, 1};
	*m = make_recording(&o);
	struct recording *r = &m->r;
	r->intervals.items = arena_new(&r->arena, struct rec_interval_row, STACKS * MANY);
	assert_non_null(r->intervals.items);
	r->intervals.n = 0;
	for (uint32_t i = 0; i < STACKS * MANY; i++) {
		uint32_t stack = i / MANY;
		bool is_wide = stack == STACKS - 1 && made_random(m, 100) == 0;
		struct rec_interval v = {
				.stack = stack,
				.from = (uint16_t)made_random(m, EDGES + 1),
				.count = stack == 0 ? REC_WIDE - 1 : 1 + (uint32_t)made_random(m, REC_WIDE),
				.bytes = stack == 0 ? UINT32_MAX : made_random(m, 1ull << 33),
		};
		v.count = is_wide ? UINT32_MAX - (uint32_t)made_random(m, 9) : v.count;
		v.bytes = is_wide ? v.bytes << 20 : v.bytes;
		v.until = made_random(m, 5) ? (uint16_t)(v.from + made_random(m, EDGES + 1u - v.from))
									: REC_NEVER;
		v.temporary = v.until == v.from ? (uint32_t)made_random(m, v.count) : 0;
		assert_true(recording_set_interval(r, r->intervals.n++, &v));
		struct rec_interval kept = recording_interval(r, i);
		assert_memory_equal(&kept, &v, sizeof v);
	}
}

/** What lens.h says of a range, interval by interval. */
static struct lens_costs slowly(const struct recording *r, const struct lens *l, uint32_t stack) {
	struct lens_costs c = {0};
	int32_t largest = (int32_t)r->edges.n;
	for (int32_t i = l->from + 1; i <= l->to && i < (int32_t)r->edges.n; i++) {
		bool is_larger = largest == (int32_t)r->edges.n ||
				r->edges.items[i].bytes > r->edges.items[largest].bytes;
		largest = is_larger ? i : largest;
	}
	for (uint32_t i = 0; i < r->intervals.n; i++) {
		const struct rec_interval v = recording_interval(r, i);
		if (v.stack != stack) {
			continue;
		}
		bool is_made = v.from > l->from && v.from <= l->to;
		bool is_alive = v.from <= largest && largest < v.until;
		bool is_asked = l->metric == LENS_PEAK  ? is_alive
				: l->metric == LENS_KEPT        ? is_made && v.until > l->to
				: l->metric == LENS_NEVER_FREED ? is_made && v.until == REC_NEVER
												: is_made;
		c.bytes += is_asked ? v.bytes : 0;
		c.blocks += is_asked ? v.count : 0;
		c.allocations += is_made ? v.count : 0;
		c.allocated_bytes += is_made ? v.bytes : 0;
		c.temporary += is_made ? v.temporary : 0;
	}
	return c;
}

static void numbers_of_every_width_add_up(void **state) {
	(void)state;
	static const enum lens_metric metrics[] = {LENS_PEAK, LENS_NEVER_FREED, LENS_KEPT, LENS_BYTES};
	struct made m;
	make_wide(&m);
	assert_true(m.r.wide.n > 1000 && m.r.wide.n < m.r.intervals.n);
	struct names *n = names_create(&m.r, NULL);
	struct arena arena = {0};
	for (int round = 0; round < 8; round++) {
		struct lens l = {.has_range = true, .metric = metrics[round % 4]};
		l.from = (int32_t)made_random(&m, EDGES) - 1;
		l.to = l.from + 1 + (int32_t)made_random(&m, (uint32_t)(EDGES - l.from));
		struct lens_result result;
		struct lens_costs total = {0};
		assert_true(lens_apply(&l, &m.r, n, &arena, &result, NULL));
		for (uint32_t i = 0; i < STACKS; i++) {
			struct lens_costs expected = slowly(&m.r, &l, i);
			same(&result.stacks[i], &expected);
			lens_costs_add(&total, &expected);
		}
		same(&result.total, &total);
		arena_finish(&arena);
	}
	names_destroy(n);
	finish_made(&m);
}

int main(void) {
	const struct CMUnitTest tests[] = {
			cmocka_unit_test(intervals_may_lie_in_any_order),
			cmocka_unit_test(running_sums_of_many_stacks_add_up),
			cmocka_unit_test(numbers_of_every_width_add_up),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
