// SPDX-License-Identifier: MIT
#include "injector/find/functions.h"
#include "wire/resident.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

static const struct known_function *find_by_symbol(const char *name) {
	return find_known(&(struct elf_symbol){.name = name,
			.type = STT_FUNC,
			.section = 1,
			.address = 0x1000,
			.size = 16});
}

/** A symbol whose beginning no known name has is not looked up: all that are known must be. */
static void test_symbols_of_known_names_are_found(void **state) {
	(void)state;
	static const char *const names[] = {
#define HOOK(result, name, ...)              #name,
#define OPERATOR_NEW(name, its_name, ...)    #name,
#define OPERATOR_DELETE(name, its_name, ...) #name,
#include "wire/allocators.def"
			"dealloc", "alignedDealloc", "nimRawDispose", "rawAlloc__system_42",
			"rawDealloc__system_u7", "newObjRC1", "rawNewStringNoInit", "rawNewObj__system_7",
			"rawNewObj__system_7.constprop.0", "alloc0Impl__system_1",
			"deallocSharedImpl__system_12", "reallocImpl__system_9"};
	for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
		assert_non_null(known_function_of(names[i]));
		assert_ptr_equal(find_by_symbol(names[i]), known_function_of(names[i]));
	}
}

static void assert_reads(const char *name, int what, int ptr, int size, int times) {
	const struct known_function *f = known_function_of(name);
	assert_non_null(f);
	assert_string_equal(f->name, name);
	assert_int_equal(f->what, what);
	assert_int_equal(f->ptr, ptr);
	assert_int_equal(f->size, size);
	assert_int_equal(f->times, times);
}

/** Where in the call its pointer and its size are, made from the parameters' names. */
static void test_registers_are_those_of_the_parameters(void **state) {
	(void)state;
	const int none = RESIDENT_NO_REGISTER;
	assert_reads("malloc", RESIDENT_ALLOCATES, none, 0, none);
	assert_reads("je_calloc", RESIDENT_ALLOCATES, none, 1, 0);
	assert_reads("tc_posix_memalign", RESIDENT_ALLOCATES_AT, 0, 2, none);
	assert_reads("memalign", RESIDENT_ALLOCATES, none, 1, none);
	assert_reads("sn_rust_realloc", RESIDENT_REALLOCATES, 0, 3, none);
	assert_reads("mi_heap_recalloc_aligned_at", RESIDENT_REALLOCATES, 1, 3, 2);
	assert_reads("mi_heap_strdup", RESIDENT_ALLOCATES, none, RESIDENT_TEXT, none);
	assert_reads("mi_reallocarr", RESIDENT_REALLOCATES_AT, 0, 2, 1);
	assert_reads("mi_heap_alloc_new_n", RESIDENT_ALLOCATES_OR_THROWS, none, 2, 1);
	assert_reads("mi_new_reallocn", RESIDENT_REALLOCATES_OR_THROWS, 0, 2, 1);
	assert_reads("_rjem_sdallocx", RESIDENT_FREES, 0, none, none);
	assert_reads("_ZnwmSt11align_val_t", RESIDENT_ALLOCATES_OR_THROWS, none, 0, none);
	assert_reads("_ZdaPvm", RESIDENT_FREES, 0, none, none);
}

static void test_short_prefixes_need_their_allocator(void **state) {
	(void)state;
	assert_string_equal(known_family(known_function_of("tc_new")), "tc_");
	assert_string_equal(known_family(known_function_of("mi_heap_malloc")), "mi_");
	assert_string_equal(known_family(known_function_of("strdup")), "moz_arena_");
	assert_string_equal(known_family(known_function_of("strndup")), "moz_arena_");
	assert_null(known_family(known_function_of("malloc")));
	assert_null(known_family(known_function_of("je_malloc")));
}

static void test_other_names_are_not_known(void **state) {
	(void)state;
	static const char *const names[] = {"", "_", "__", "_Z", "_ZN2v88internal4Heap7CollectEv",
			"_ZTVN10__cxxabiv117__class_type_infoE", "_start", "__cxa_throw", "X509_new"};
	for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
		assert_null(find_by_symbol(names[i]));
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
			cmocka_unit_test(test_symbols_of_known_names_are_found),
			cmocka_unit_test(test_other_names_are_not_known),
			cmocka_unit_test(test_registers_are_those_of_the_parameters),
			cmocka_unit_test(test_short_prefixes_need_their_allocator),
			cmocka_unit_test(test_clones_take_other_arguments),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
