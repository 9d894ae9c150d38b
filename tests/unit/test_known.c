// SPDX-License-Identifier: MIT
#include "injector/known.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

/** Whom the cheap look turns away is never looked up: it must let all pass that are known. */
static void test_cheap_look_lets_known_names_pass(void **state) {
	(void)state;
	static const char *const names[] = {"malloc", "free", "calloc", "realloc", "memalign",
			"aligned_alloc", "posix_memalign", "valloc", "pvalloc", "cfree", "mallocx", "rallocx",
			"dallocx", "sdallocx", "je_malloc", "_rjem_malloc", "_rjem_sdallocx", "mi_zalloc",
			"mi_rezalloc", "mi_free_size", "mi_new", "mi_new_nothrow", "tc_free", "sn_malloc",
			"sn_rust_alloc", "sn_rust_realloc", "__libc_malloc", "__libc_free", "_Znwm", "_Znam",
			"_ZnwmSt11align_val_t", "_ZnamSt11align_val_tRKSt9nothrow_t", "_ZdlPv", "_ZdaPv",
			"_ZdaPvSt11align_val_tRKSt9nothrow_t", "dealloc", "alignedDealloc", "nimRawDispose",
			"rawAlloc__system_42", "rawDealloc__system_u7", "newObjRC1", "rawNewStringNoInit",
			"rawNewObj__system_7", "rawNewObj__system_7.constprop.0", "alloc0Impl__system_1",
			"deallocSharedImpl__system_12", "reallocImpl__system_9"};
	for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
		assert_non_null(known_function_of(names[i]));
		assert_true(known_may_be(names[i]));
	}
}

static void test_cheap_look_turns_most_names_away(void **state) {
	(void)state;
	static const char *const names[] = {"", "_", "__", "_Z", "_ZN2v88internal4Heap7CollectEv",
			"_ZTVN10__cxxabiv117__class_type_infoE", "_start", "__cxa_throw", "X509_new"};
	for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
		assert_false(known_may_be(names[i]));
		assert_null(known_function_of(names[i]));
	}
}

static void test_clones_take_other_arguments(void **state) {
	(void)state;
	assert_null(known_function_of("rawAlloc__system_42.constprop.0"));
	assert_null(known_function_of("alloc__system_42.isra.0"));
	assert_null(known_function_of("rawNewObj__system_7.isra.0"));
	assert_null(known_function_of("rawAlloc__system_"));
	assert_null(known_function_of("alloc__systemZio_42"));
}

int main(void) {
	const struct CMUnitTest tests[] = {
			cmocka_unit_test(test_cheap_look_lets_known_names_pass),
			cmocka_unit_test(test_cheap_look_turns_most_names_away),
			cmocka_unit_test(test_clones_take_other_arguments),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
