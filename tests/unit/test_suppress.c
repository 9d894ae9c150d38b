// SPDX-License-Identifier: MIT
#include "engine/breakdown.h"
#include "engine/suppress.h"
#include "sample_recording.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

static bool matches(const char *pattern, const char *name) {
	return suppression_matches(slice_of_text(pattern), slice_of_text(name));
}

static void patterns(void **state) {
	(void)state;
	assert_true(matches("foo", "foo"));
	assert_true(matches("foo", "a foo b"));
	assert_false(matches("foo", "fo"));
	assert_true(matches("^foo", "foobar"));
	assert_false(matches("^foo", "a foo"));
	assert_true(matches("foo$", "a foo"));
	assert_false(matches("foo$", "foobar"));
	assert_true(matches("^foo$", "foo"));
	assert_false(matches("^foo$", "foofoo"));
	assert_true(matches("^/lib*/ld-linux-*.so.2$", "/lib64/ld-linux-x86-64.so.2"));
	assert_false(matches("^/lib*/ld-linux-*.so.2$", "/usr/lib64/ld-linux-x86-64.so.2"));
	assert_true(matches("^leak*Supp$", "leakFooSupp"));
	assert_false(matches("^leak*Supp$", "leakFooSupp2"));
	assert_true(matches("a*b*c", "xxaxxbxxcxx"));
	assert_false(matches("a*b*c", "xxcxxbxxaxx"));
	assert_true(matches("a$", "aba")); // the first 'a' is not at the end, the last one is
	assert_true(matches("*", "anything"));
	assert_true(matches("std::vector<int>", "std::vector<int>::push_back"));
}

static void empty_patterns_match_nothing(void **state) {
	(void)state;
	assert_false(matches("", "anything"));
	assert_false(matches("^", "anything"));
	assert_false(matches("foo", ""));
	assert_false(matches("*", ""));
	struct suppressions s = {0};
	suppressions_add(&s, slice_of_text("leak:\nleak\n"), SUPPRESSION_FROM_FILE);
	assert_int_equal(s.rules.n, 0);
	suppressions_finish(&s);
}

static void lines(void **state) {
	(void)state;
	struct suppressions s = {0};
	static const char text[] = "# a comment\n\n  leak:one  \r\nnonsense\nleak:two";
	suppressions_add(&s, slice_of_text(text), SUPPRESSION_FROM_FILE);
	assert_int_equal(s.rules.n, 2);
	assert_true(slice_equal(s.rules.items[0].pattern, slice_of_text("one")));
	assert_true(slice_equal(s.rules.items[1].pattern, slice_of_text("two")));
	assert_true(slice_equal(buffer_view(&s.complaints),
			slice_of_text("invalid suppression line: nonsense\n")));
	suppressions_finish(&s);
}

static void the_built_in_ones_are_narrow(void **state) {
	(void)state;
	struct suppressions s = {0};
	suppressions_add_built_in(&s);
	assert_true(s.rules.n > 0);
	static const char *const not [] = {"dl_open_worker", "_dl_open", "dlopen", "main", "malloc",
			"/usr/lib/libglib-2.0.so.0"};
	for (size_t i = 0; i < s.rules.n; i++) {
		for (size_t k = 0; k < sizeof not / sizeof *not ; k++) {
			assert_false(suppression_matches(s.rules.items[i].pattern, slice_of_text(not [k])));
		}
	}
	suppressions_finish(&s);
}

/** What is suppressed counts as freed; the first rule wins, and a caller's over its callee's. */
static void applied(void **state) {
	(void)state;
	struct recording r = sample_recording();
	struct suppressions s = {0};
	static const char text[] = "leak:^parse(\nleak:operator new\nleak:nowhere\n";
	suppressions_add(&s, slice_of_text(text), SUPPRESSION_FROM_FILE);
	suppressions_apply(&s, &r);
	struct err why = {0};
	assert_true(recording_is_valid(&r, &why));
	assert_int_equal(r.summary.live_bytes, 100);
	assert_int_equal(r.summary.live_blocks, 1);
	assert_int_equal(r.summary.suppressed_bytes, 101000);
	assert_int_equal(r.summary.suppressed_blocks, 1000);
	assert_int_equal(r.summary.allocations, 1553);
	assert_int_equal(s.rules.items[0].n_stacks, 2);
	assert_int_equal(s.rules.items[0].bytes, 101000);
	assert_int_equal(s.rules.items[1].n_stacks, 1); // below spike(), which nothing suppresses
	assert_int_equal(s.rules.items[1].bytes, 0);
	assert_int_equal(s.rules.items[2].n_stacks, 0);
	suppressions_finish(&s);
	recording_finish(&r);
}

/** Where two threads allocated at one place, both of them and who is behind them keep their stacks. */
static void stays_with_its_stack_whatever_the_threads(void **state) {
	(void)state;
	struct recording r = sample_recording(), by_node;
	struct rec_stack stacks[] = {{.node = N_NEW, .allocations = 2},
			{.node = N_NEW, .allocations = 2, .thread = 1},
			{.node = N_PARSE_X, .allocations = 9, .live_blocks = 1, .live_bytes = 500},
			{.node = N_PARSE_NEW, .allocations = 4, .live_blocks = 2, .live_bytes = 300},
			{.node = N_PARSE_NEW,
					.allocations = 4,
					.live_blocks = 3,
					.live_bytes = 400,
					.thread = 1}};
	r.stacks.items = stacks, r.stacks.n = sizeof stacks / sizeof *stacks;
	struct suppressions s = {0};
	struct arena arena = {0};
	suppressions_add(&s, slice_of_text("leak:^parse(\n"), SUPPRESSION_FROM_FILE);
	suppressions_apply(&s, &r);
	assert_int_equal(r.suppressed.n, 3);
	recording_by_node(&r, &arena, &by_node);
	assert_int_equal(by_node.suppressed.n, 2);
	const struct rec_suppressed *both = &by_node.suppressed.items[0], *one = both + 1;
	assert_int_equal(by_node.stacks.items[both->stack].node, N_PARSE_NEW);
	assert_int_equal(both->blocks, 5);
	assert_int_equal(both->bytes, 700);
	assert_int_equal(by_node.stacks.items[one->stack].node, N_PARSE_X);
	assert_int_equal(one->bytes, 500);
	arena_finish(&arena);
	suppressions_finish(&s);
	recording_finish(&r);
}

int main(void) {
	const struct CMUnitTest tests[] = {
			cmocka_unit_test(patterns),
			cmocka_unit_test(empty_patterns_match_nothing),
			cmocka_unit_test(lines),
			cmocka_unit_test(the_built_in_ones_are_narrow),
			cmocka_unit_test(applied),
			cmocka_unit_test(stays_with_its_stack_whatever_the_threads),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
