// SPDX-License-Identifier: MIT

/* Functions found in the tables of loaded objects are those that dlsym finds. */

#include "recorder/preload/real.h"

#include <dlfcn.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

static void test_as_dlsym(void **state) {
	(void)state;
	static const char *const names[] = {"malloc", "free", "calloc", "realloc", "reallocarray",
			"posix_memalign", "aligned_alloc", "memalign", "valloc", "pvalloc", "setrlimit",
			"mlockall", "_test_malloc", "run_tests_that_are_not_there"};
	for (unsigned i = 0; i < sizeof names / sizeof *names; i++) {
		assert_ptr_equal(lookup_function(names[i], NULL), dlsym(RTLD_DEFAULT, names[i]));
	}
}

static void test_passes_over_ours(void **state) {
	(void)state;
	void *first = lookup_function("malloc", NULL);
	assert_non_null(first);
	assert_ptr_not_equal(lookup_function("malloc", first), first);
}

/** The next behind the program itself, as for a library that is preloaded. */
static void test_next(void **state) {
	(void)state;
	static const char *const names[] = {"malloc", "free", "calloc", "realloc", "reallocarray",
			"posix_memalign", "setrlimit", "_test_malloc", "run_tests_that_are_not_there"};
	const void *ours = (const void *)test_next;
	for (unsigned i = 0; i < sizeof names / sizeof *names; i++) {
		assert_ptr_equal(lookup_next(names[i], ours), dlsym(RTLD_NEXT, names[i]));
	}
	const void *in_libc = dlsym(RTLD_NEXT,
			"setrlimit"); // malloc is a sanitizer's where there is one
	assert_null(lookup_next("setrlimit", in_libc));
	assert_null(lookup_next("malloc", &in_libc)); // of no object
}

/** What dlsym would take away. */
static void test_leaves_what_the_loader_says(void **state) {
	(void)state;
	assert_null(dlopen("a-library-that-is-not-there.so", RTLD_NOW));
	(void)lookup_next("run_tests_that_are_not_there", (const void *)test_next);
	(void)lookup_function("run_tests_that_are_not_there", NULL);
	assert_non_null(dlerror());
}

static void test_beside(void **state) {
	(void)state;
	const void *in_libc = dlsym(RTLD_DEFAULT, "strlen");
	const void *in_cmocka = dlsym(RTLD_DEFAULT, "_test_malloc");
	assert_true(lookup_is_beside(in_cmocka, "_test_free"));
	assert_false(lookup_is_beside(in_cmocka, "mlockall"));
	assert_true(lookup_is_beside(in_libc, "mlockall"));
	assert_false(lookup_is_beside(in_libc, "_test_malloc"));
	assert_false(lookup_is_beside(&in_libc, "mlockall")); // of no object
}

int main(void) {
	const struct CMUnitTest tests[] = {
			cmocka_unit_test(test_as_dlsym),
			cmocka_unit_test(test_passes_over_ours),
			cmocka_unit_test(test_next),
			cmocka_unit_test(test_leaves_what_the_loader_says),
			cmocka_unit_test(test_beside),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
