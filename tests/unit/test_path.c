// SPDX-License-Identifier: MIT
#include "base/text.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <cmocka.h>

static void paths_become_normal(void **state) {
	(void)state;
	static const struct {
		const char *path, *normal;
	} samples[] = {
			{"/a/b", "/a/b"},
			{"/a/./b", "/a/b"},
			{"/a//b/", "/a/b"},
			{"/a/b/../c", "/a/c"},
			{"/a/../../c", "/c"},
			{"/..", "/"},
			{"/", "/"},
			{"a/../b", "b"},
			{"../a", "../a"},
			{"../../a/../b", "../../b"},
			{"a/../..", ".."},
			{"./a", "a"},
			{"a/..", "."},
			{".", "."},
			{"", "."},
			{"/a/..b/.c", "/a/..b/.c"},
	};
	struct arena arena = {0};
	for (size_t i = 0; i < sizeof samples / sizeof *samples; i++) {
		assert_string_equal(path_normal(samples[i].path, &arena), samples[i].normal);
	}
	arena_finish(&arena);
}

static void base_names_are_last_parts(void **state) {
	(void)state;
	static const struct {
		const char *path, *base;
	} samples[] = {{"/a/b.c", "b.c"}, {"b", "b"}, {"a/", ""}, {"", ""}};
	for (size_t i = 0; i < sizeof samples / sizeof *samples; i++) {
		struct slice path = slice_of_text(samples[i].path);
		assert_string_equal(path_base_name(samples[i].path), samples[i].base);
		assert_true(slice_equal(path_base(path), slice_of_text(samples[i].base)));
	}
	assert_int_equal(path_base((struct slice){0}).size, 0);
}

int main(void) {
	const struct CMUnitTest tests[] = {
			cmocka_unit_test(paths_become_normal),
			cmocka_unit_test(base_names_are_last_parts),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
