// SPDX-License-Identifier: MIT
#include "base/arena.h"
#include "base/err.h"
#include "base/vec.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

static void gives_zeroed_aligned_memory_apart(void **state) {
	(void)state;
	struct arena a = {0};
	uint8_t *last = NULL;
	for (size_t n = 0; n < 3000; n++) {
		uint8_t *p = arena_alloc(&a, n, 1);
		assert_non_null(p);
		assert_int_equal((uintptr_t)p % 16, 0);
		for (size_t i = 0; i < n; i++) {
			assert_int_equal(p[i], 0);
			p[i] = 0xaa;
		}
		assert_true(n <= 1 || p != last); // an empty block takes no room
		last = p;
	}
	arena_finish(&a);
	assert_int_equal(a.bytes, 0);
	assert_non_null(arena_alloc(&a, 1, 1)); // usable again
	arena_finish(&a);
}

static void gives_large_memory_to_its_last_byte(void **state) {
	(void)state;
	struct arena a = {0};
	for (size_t n = 4 << 20; n < 5 << 20; n += 333333) {
		uint8_t *p = arena_alloc(&a, n, 1);
		uint8_t *behind = arena_alloc(&a, 16, 1);
		assert_non_null(p);
		assert_non_null(behind);
		for (size_t i = 0; i < n; i++) {
			if (p[i]) {
				fail_msg("byte %zu of %zu is not zero", i, n);
			}
			p[i] = 0xaa;
		}
		assert_int_equal(behind[0], 0);
	}
	arena_finish(&a);
}

static void fill(struct arena *a, size_t n) {
	uint8_t *p = arena_alloc(a, n, 1);
	assert_non_null(p);
	for (size_t i = 0; i < n; i++) {
		if (p[i]) {
			fail_msg("byte %zu of %zu is not zero", i, n);
		}
		p[i] = 0xaa;
	}
}

static void serves_again_what_it_had_before_a_reset(void **state) {
	(void)state;
	struct arena a = {.growth = 4};
	for (size_t n = 1; n <= 3; n++) {
		size_t before = a.bytes;
		fill(&a, n << 21);
		fill(&a, n << 19);
		fill(&a, 100);
		assert_true(n == 1 || a.bytes == before); // three times as large is still the same memory
		arena_reset(&a);
	}
	assert_int_equal(a.growth, 4);
	arena_reset(&a); // nothing was used since
	assert_int_equal(a.bytes, 0);
	fill(&a, 1 << 20);
	arena_finish(&a);
	assert_int_equal(a.bytes, 0);
}

static void a_reset_frees_what_was_of_no_more_use(void **state) {
	(void)state;
	struct arena a = {0};
	fill(&a, 8 << 20);
	arena_reset(&a);
	fill(&a, 9 << 20); // the old chunk is too small
	arena_reset(&a);
	assert_in_range(a.bytes, 9 << 20, 14 << 20);
	arena_finish(&a);
}

static void refuses_what_overflows(void **state) {
	(void)state;
	struct arena a = {0};
	assert_null(arena_alloc(&a, SIZE_MAX / 2, 4));
	assert_null(arena_alloc(&a, SIZE_MAX, 1));
	arena_finish(&a);
}

static void keeps_its_limit(void **state) {
	(void)state;
	struct arena a = {.max_bytes = 1 << 20};
	size_t n = 0;
	while (arena_alloc(&a, 1000, 1)) {
		n++;
	}
	assert_true(n > 500 && n <= (1 << 20) / 1000);
	assert_true(a.bytes <= a.max_bytes);
	arena_finish(&a);
}

static void keeps_its_limit_with_large_pages(void **state) {
	(void)state;
	struct arena a = {.max_bytes = 3 << 20};
	assert_non_null(arena_alloc(&a, 2560 << 10, 1));
	assert_null(arena_alloc(&a, 1 << 20, 1));
	assert_true(a.bytes <= a.max_bytes);
	arena_finish(&a);
	assert_non_null(arena_alloc(&a, 1100 << 10, 1)); // there is room again
	assert_true(a.bytes <= a.max_bytes);
	arena_finish(&a);
}

static void copies_text_with_a_zero(void **state) {
	(void)state;
	struct arena a = {0};
	assert_string_equal(arena_text(&a, slice_of("abcdef", 3)), "abc");
	assert_string_equal(arena_text(&a, (struct slice){0}), "");
	arena_finish(&a);
}

static void grows_a_vec(void **state) {
	(void)state;
	struct {
		int *items;
		size_t n, capacity;
	} v = {0};
	for (int i = 0; i < 1000; i++) {
		int *item = vec_push(&v);
		assert_non_null(item);
		assert_int_equal(*item, 0);
		*item = i;
	}
	assert_int_equal(v.n, 1000);
	assert_int_equal(v.items[999], 999);
	assert_false(vec_reserve(&v, SIZE_MAX - 10));
	assert_int_equal(v.n, 1000);
	vec_finish(&v);
	assert_null(v.items);
}

static void says_what_went_wrong(void **state) {
	(void)state;
	struct err err = {0};
	assert_false(err_set(&err, ERR_FORMAT, "stack %d is undefined", 99));
	assert_false(err_add(&err, "block %d", 12));
	assert_int_equal(err.code, ERR_FORMAT);
	assert_string_equal(err.text, "block 12: stack 99 is undefined");
	assert_false(err_system(&err, 2, "x"));
	assert_string_equal(err.text, "x: No such file or directory");
	for (int i = 0; i < 100; i++) {
		(void)err_add(&err, "a rather long prefix that does not fit so often");
	}
	assert_true(strlen(err.text) < sizeof err.text);
	assert_false(err_memory(NULL)); // who does not care passes NULL
}

int main(void) {
	const struct CMUnitTest tests[] = {
			cmocka_unit_test(gives_zeroed_aligned_memory_apart),
			cmocka_unit_test(gives_large_memory_to_its_last_byte),
			cmocka_unit_test(serves_again_what_it_had_before_a_reset),
			cmocka_unit_test(a_reset_frees_what_was_of_no_more_use),
			cmocka_unit_test(refuses_what_overflows),
			cmocka_unit_test(keeps_its_limit),
			cmocka_unit_test(keeps_its_limit_with_large_pages),
			cmocka_unit_test(copies_text_with_a_zero),
			cmocka_unit_test(grows_a_vec),
			cmocka_unit_test(says_what_went_wrong),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
