// SPDX-License-Identifier: MIT
#include "base/text.h"

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

static struct slice rest;

/** Whether what is left of the slice is this. */
static bool leaves(const char *text) {
	return slice_equal(rest, slice_of_text(text));
}

static void lines_and_prefixes(void **state) {
	(void)state;
	struct slice line;
	rest = slice_of_text("one\r\n\ntwo");
	assert_true(next_line(&rest, &line) && slice_equal(line, slice_of_text("one")));
	assert_true(next_line(&rest, &line) && line.size == 0);
	assert_true(next_line(&rest, &line) && slice_equal(line, slice_of_text("two")));
	assert_false(next_line(&rest, &line));
	rest = skip_spaces(slice_of_text(" \tab"));
	assert_false(take_prefix(&rest, "abc"));
	assert_true(take_prefix(&rest, "a") && leaves("b"));
	assert_true(starts_with(rest, "") && starts_with((struct slice){0}, ""));
}

static void lists_are_one_text(void **state) {
	(void)state;
	static const char list[] = "|one|on||two";
	static const size_t sizes[] = {3, 2, 0, 3};
	struct slice text;
	size_t n = 0;
	for (const char *at = list; next_text(&at, &text); n++) {
		assert_int_equal(text.size, sizes[n]);
	}
	assert_int_equal(n, 4);
	assert_true(is_any(slice_of_text("two"), list) && is_any(slice_of_text("on"), list));
	assert_true(is_any((struct slice){0}, list) && !is_any((struct slice){0}, "|one"));
	assert_false(is_any(slice_of_text("o"), list) || is_any(slice_of_text("twos"), list));
	assert_false(is_any(slice_of_text("on||two"), list) || is_any(slice_of("two\0", 4), list));
	assert_true(starts_with_any(slice_of_text("twos"), "|one|two"));
	assert_false(starts_with_any(slice_of_text("tw"), "|one|two"));
	assert_false(starts_with_any(slice_of_text("tw"), ""));
	rest = slice_of_text("once");
	assert_true(take_any(&rest, list) && leaves("ce"));
	assert_false(take_any(&rest, "|one|two"));
}

static void numbers_are_taken(void **state) {
	(void)state;
	uint64_t n;
	rest = slice_of_text(" 18446744073709551615x");
	assert_true(take_decimal(&rest, &n) && n == UINT64_MAX && leaves("x"));
	assert_false(take_decimal(&rest, &n));
	rest = slice_of_text("18446744073709551616");
	assert_false(take_decimal(&rest, &n));
	rest = slice_of_text("0xAf 0X10 g");
	assert_true(take_hexadecimal(&rest, &n) && n == 0xaf);
	assert_true(take_hexadecimal(&rest, &n) && n == 0x10);
	assert_false(take_hexadecimal(&rest, &n));
	rest = slice_of_text("123456789abcdef01");
	assert_true(take_hexadecimal(&rest, &n) && n == 0x123456789abcdef0 && leaves("1"));
	for (int c = 0; c < 256; c++) {
		const char *at = c ? strchr("0123456789abcdef0123456789ABCDEF", c) : NULL;
		int index = at ? (int)(at - strchr(at, 0)) + 32 : -1;
		assert_int_equal(hex_digit((uint8_t)c), at ? index % 16 : -1);
	}
}

static void fractions_are_taken(void **state) {
	(void)state;
	double d;
	rest = slice_of_text("2.5MB");
	assert_true(take_fraction(&rest, &d) && d == 2.5 && leaves("MB"));
	assert_false(take_fraction(&rest, &d));
	rest = slice_of_text("30");
	assert_true(take_fraction(&rest, &d) && d == 30 && leaves(""));
	rest = slice_of_text("12345678901234567890");
	assert_false(take_fraction(&rest, &d));
}

static void parts_between_stars(void **state) {
	(void)state;
	const struct slice none = {0}, all = slice_of_text("*"), name = slice_of_text("pool::get");
	assert_true(has_parts(none, all, true, true) && has_parts(none, none, true, true));
	assert_false(has_parts(none, slice_of_text("a*"), false, false));
	assert_true(has_parts(name, slice_of_text("pool*get"), true, true));
	assert_true(has_parts(name, slice_of_text("*:*"), false, true));
	assert_false(has_parts(name, slice_of_text("ool*get"), true, true));
	assert_false(has_parts(name, slice_of_text("pool*ge"), true, true));
}

int main(void) {
	const struct CMUnitTest tests[] = {
			cmocka_unit_test(lines_and_prefixes),
			cmocka_unit_test(lists_are_one_text),
			cmocka_unit_test(numbers_are_taken),
			cmocka_unit_test(fractions_are_taken),
			cmocka_unit_test(parts_between_stars),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
