// SPDX-License-Identifier: MIT
#include "base/visible.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

static const struct {
	const char *text, *shown;
} rows[] = {
		{"std::vector<int>::push_back(int&&)", NULL},
		{"größe_日本_🦀", NULL},
		{"C:\\x", NULL},
		{"\x1b]0;title\a", "\\x1b]0;title\\x07"},
		{"a\rb\tc\x7f", "a\\rb\\tc\\x7f"},
		{"\xc2\x9b"
		 "2J",
				"\\u009b2J"},
		{"\xe2\x80\xae"
		 "cod.exe",
				"\\u202e"
				"cod.exe"},
		{"\xe2\x81\xa6\xe2\x81\xa9\xe2\x80\x8e\xe2\x80\x8f\xd8\x9c",
				"\\u2066\\u2069\\u200e\\u200f\\u061c"},
		{"\xe2\x80\xa8\xe2\x80\xa9", "\\u2028\\u2029"},
		{"\xff\xc3", "\\xff\\xc3"},
		{"\xed\xa0\x80", "\\xed\\xa0\\x80"}, // a surrogate is no character
		{"\xc0\x9b", "\\xc0\\x9b"},          // overlong
		{"", NULL},
};

static void escapes_what_a_terminal_obeys(void **state) {
	(void)state;
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		const char *expected = rows[i].shown ? rows[i].shown : rows[i].text;
		struct buffer out = {0};
		visible_put(&out, slice_of_text(rows[i].text));
		buffer_u8(&out, 0);
		assert_string_equal((const char *)out.data, expected);
		assert_int_equal(visible_differs(slice_of_text(rows[i].text)), rows[i].shown != NULL);
		buffer_finish(&out);
	}
}

static void keeps_line_ends_of_ours(void **state) {
	(void)state;
	struct buffer out = {0};
	visible_put_lines(&out, slice_of_text("one\ntwo\x1b\n"));
	buffer_u8(&out, 0);
	assert_string_equal((const char *)out.data, "one\ntwo\\x1b\n");
	buffer_clear(&out);
	visible_put(&out, slice_of_text("one\ntwo"));
	buffer_u8(&out, 0);
	assert_string_equal((const char *)out.data, "one\\ntwo");
	buffer_finish(&out);
}

// Whatever goes in, what comes out is UTF-8 in which nothing is left to escape
static void leaves_nothing(void **state) {
	(void)state;
	uint32_t seed = 1;
	for (int round = 0; round < 20000; round++) {
		uint8_t text[24];
		static const uint8_t likely[] = {0xe2, 0x80, 0x81, 0xa6, 0xae, 0xc2, 0x1b, 0xd8, 0x9c};
		for (size_t i = 0; i < sizeof text; i++) {
			seed = seed * 1664525 + 1013904223;
			text[i] = seed >> 31 ? likely[(seed >> 8) % sizeof likely] : (uint8_t)(seed >> 16);
		}
		struct buffer out = {0};
		visible_put(&out, slice_of(text, sizeof text));
		assert_false(visible_differs(buffer_view(&out)));
		buffer_finish(&out);
	}
}

static void cuts_names(void **state) {
	(void)state;
	char out[8];
	assert_string_equal(visible_name(out, sizeof out, "ab\ncdefgh"), "ab\\ncde");
	assert_string_equal(visible_name(out, sizeof out, ""), "");
}

static void keeps_shares_whole(void **state) {
	(void)state;
	SCOPED(buffer) out = {0};
	visible_wrap(&out, "  ", 4, "it holds 100 % of it, 23 % elsewhere", 12);
	buffer_u8(&out, 0);
	assert_string_equal((const char *)out.data,
			"  it holds\n    100 % of\n    it, 23 %\n    elsewhere\n");
}

int main(void) {
	const struct CMUnitTest tests[] = {
			cmocka_unit_test(escapes_what_a_terminal_obeys),
			cmocka_unit_test(keeps_line_ends_of_ours),
			cmocka_unit_test(leaves_nothing),
			cmocka_unit_test(cuts_names),
			cmocka_unit_test(keeps_shares_whole),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
