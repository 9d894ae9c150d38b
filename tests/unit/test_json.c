// SPDX-License-Identifier: MIT
#include "base/json.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

static struct buffer out;

static int clear(void **state) {
	(void)state;
	buffer_finish(&out);
	return 0;
}

static void assert_written(const char *expected) {
	buffer_u8(&out, 0);
	assert_string_equal((const char *)out.data, expected);
}

static void sets_commas_between_items(void **state) {
	(void)state;
	struct json j = json_init(&out);
	json_open(&j, NULL, '{');
	json_number(&j, "n", UINT64_MAX);
	json_open(&j, "list", '[');
	json_signed(&j, NULL, -1);
	json_bool(&j, NULL, true);
	json_null(&j, NULL);
	json_open(&j, NULL, '[');
	json_close(&j);
	json_close(&j);
	json_text(&j, "t", "x");
	json_text(&j, "none", NULL);
	json_close(&j);
	assert_written(
			"{\"n\":18446744073709551615,\"list\":[-1,true,null,[]],\"t\":\"x\",\"none\":null}");
}

static void escapes_what_would_break_out(void **state) {
	(void)state;
	struct json j = json_init(&out);
	json_text(&j, NULL, "a\"b\\c\n\x01\x7f/ü");
	assert_written("\"a\\\"b\\\\c\\u000a\\u0001\\u007f/ü\"");
}

static void replaces_bytes_that_are_no_text(void **state) {
	(void)state;
	static const char *const bad[] = {
			"\x80",             // a continuation alone
			"\xc0\xaf",         // overlong
			"\xe0\x80\xaf",     // overlong
			"\xed\xa0\x80",     // a surrogate
			"\xf4\x90\x80\x80", // beyond U+10FFFF
			"\xf0\x9f\x98",     // cut
	};
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
		struct json j = json_init(&out);
		json_text(&j, NULL, bad[i]);
		for (size_t k = 1; k + 1 < out.size; k += 3) {
			assert_memory_equal(out.data + k, "\xef\xbf\xbd", 3);
		}
		assert_int_equal(out.size, 2 + 3 * strlen(bad[i]));
		buffer_clear(&out);
	}
	struct json j = json_init(&out);
	json_text(&j, NULL, "\xf0\x9f\x98\x80");
	assert_written("\"\xf0\x9f\x98\x80\"");
}

int main(void) {
	const struct CMUnitTest tests[] = {
			cmocka_unit_test_teardown(sets_commas_between_items, clear),
			cmocka_unit_test_teardown(escapes_what_would_break_out, clear),
			cmocka_unit_test_teardown(replaces_bytes_that_are_no_text, clear),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
