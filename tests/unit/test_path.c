// SPDX-License-Identifier: MIT
#include "base/path.h"

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

int main(void) {
	const struct CMUnitTest tests[] = {
			cmocka_unit_test(paths_become_normal),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
