// SPDX-License-Identifier: MIT
#include "symbols/names/names.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <cmocka.h>

static void equal_texts_share_memory(void **state) {
	(void)state;
	struct arena arena = {0};
	struct name_pool pool = {.arena = &arena};
	const char *path = name_pool_get(&pool, "/a/./b", NAMES_PATH).function;
	struct name name = name_pool_get(&pool, "_Z3foov", NAMES_MARKED);
	assert_string_equal(path, "/a/b");
	assert_string_equal(name.function, "foo()");
	assert_string_equal(name.symbol, "_Z3foov");
	const char *function = name.function;
	assert_string_equal(name_pool_get(&pool, "_Z3foov", NAMES_C).function, "_Z3foov");
	// Sequential keys, through several growths
	char text[32];
	for (int i = 0; i < 5000; i++) {
		snprintf(text, sizeof text, "f%d", i);
		assert_string_equal(name_pool_get(&pool, text, NAMES_TEXT).function, text);
	}
	assert_ptr_equal(name_pool_get(&pool, "/a/./b", NAMES_PATH).function, path);
	assert_ptr_equal(name_pool_get(&pool, "_Z3foov", NAMES_MARKED).function, function);
	name_pool_finish(&pool);
	assert_string_equal(path, "/a/b"); // lives on in the arena
	arena_finish(&arena);
}

int main(void) {
	const struct CMUnitTest tests[] = {
			cmocka_unit_test(equal_texts_share_memory),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
