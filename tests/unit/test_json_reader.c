// SPDX-License-Identifier: MIT
#include "base/json.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

static struct json_reader j;

static int tear_down(void **state) {
	(void)state;
	json_reader_finish(&j);
	return 0;
}

static void read_text(const char *text) {
	json_reader_finish(&j);
	json_reader_init(&j, slice_of_text(text));
}

static void reads_what_the_writer_wrote(void **state) {
	(void)state;
	struct buffer out = {0};
	struct json w = json_init(&out);
	json_open(&w, NULL, '{');
	json_number(&w, "most", UINT64_MAX);
	json_signed(&w, "least", INT64_MIN + 1);
	json_text(&w, "text", "a\"\\\n\x01z\xc3\xa9");
	json_open(&w, "list", '[');
	json_bool(&w, NULL, true);
	json_bool(&w, NULL, false);
	json_close(&w);
	json_null(&w, "nothing");
	json_close(&w);
	json_reader_init(&j, buffer_view(&out));
	json_enter(&j, '{');
	assert_true(json_next(&j) && json_key_is(&j, "most"));
	assert_true(json_take_number(&j) == UINT64_MAX);
	assert_true(json_next(&j) && json_key_is(&j, "least"));
	assert_true(json_take_signed(&j) == INT64_MIN + 1);
	assert_true(json_next(&j) && json_key_is(&j, "text"));
	assert_true(slice_equal(json_take_text(&j), slice_of_text("a\"\\\n\x01z\xc3\xa9")));
	assert_true(json_next(&j) && json_key_is(&j, "list"));
	json_enter(&j, '[');
	assert_true(json_next(&j) && json_take_bool(&j));
	assert_true(json_next(&j) && !json_take_bool(&j));
	assert_false(json_next(&j));
	assert_true(json_next(&j) && json_key_is(&j, "nothing"));
	assert_int_equal(json_peek(&j), 'n');
	json_skip(&j);
	assert_false(json_next(&j));
	assert_false(j.failed);
	buffer_finish(&out);
}

static void reads_numbers(void **state) {
	(void)state;
	static const struct {
		const char *text;
		int64_t value;
		bool ok;
	} cases[] = {{"0", 0, true}, {"-0", 0, true}, {"12", 12, true}, {"-12.5", -12, true},
			{"1e3", 1000, true}, {"255E-1", 25, true}, {"2.56E+2", 256, true}, {"01", 0, false},
			{"-", 0, false}, {"+1", 0, false}, {".5", 0, false}, {"1.", 0, false}, {"1e", 0, false},
			{"x", 0, false}, {"", 0, false}};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		read_text(cases[i].text);
		assert_true(json_take_signed(&j) == cases[i].value);
		assert_int_equal(!j.failed, cases[i].ok);
	}
	read_text("99999999999999999999999");
	assert_true(json_take_number(&j) == UINT64_MAX);
	read_text("-5");
	assert_true(json_take_number(&j) == 0 && !j.failed);
	read_text("1e300");
	assert_true(json_take_number(&j) == UINT64_MAX && !j.failed);
}

static void decodes_escapes(void **state) {
	(void)state;
	read_text("\"\\u00e9\\ud83d\\ude00\\ud800x\\/\"");
	assert_true(slice_equal(json_take_text(&j),
			slice_of_text("\xc3\xa9\xf0\x9f\x98\x80\xef\xbf\xbdx/")));
	assert_false(j.failed);
}

static void skips_anything(void **state) {
	(void)state;
	read_text("[{\"a\":[1,[],{}],\"b\":{\"c\":null}}, 7]");
	json_enter(&j, '[');
	assert_true(json_next(&j));
	json_skip(&j);
	assert_true(json_next(&j));
	assert_int_equal(json_take_number(&j), 7);
	assert_false(json_next(&j));
	assert_false(j.failed);
}

/** Walk the whole value; true if it was well formed. */
static bool is_json(const char *text) {
	read_text(text);
	json_skip(&j);
	return !j.failed;
}

static void refuses_what_is_no_json(void **state) {
	(void)state;
	static const char *const bad[] = {"[1,]", "[1 2]", "{\"a\"}", "{\"a\":}", "{1:2}", "[", "{",
			"\"a", "\"\\x\"", "\"\\u12g4\"", "[}", "tru", "", "{\"a\":1,}", "[,1]", "\"\n\""};
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
		assert_false(is_json(bad[i]));
	}
	assert_true(is_json("{}") && is_json(" [ ] ") && is_json("{\"a\":[{}]}"));
}

static void bounds_depth(void **state) {
	(void)state;
	enum { DEEP = JSON_READ_DEPTH + 10 };
	char *text = calloc(DEEP * 2 + 1, 1);
	memset(text, '[', DEEP);
	memset(text + DEEP, ']', DEEP);
	assert_false(is_json(text));
	memset(text, ' ', 10);
	memset(text + DEEP * 2 - 10, ' ', 10);
	assert_true(is_json(text));
	free(text);
}

static void a_failure_stays(void **state) {
	(void)state;
	read_text("[1, x, 3]");
	json_enter(&j, '[');
	int n = 0;
	while (json_next(&j)) {
		(void)json_take_number(&j);
		n++;
	}
	assert_true(j.failed && n <= 2);
	assert_false(json_next(&j));
	assert_int_equal(json_take_text(&j).size, 0);
}

int main(void) {
	const struct CMUnitTest tests[] = {
			cmocka_unit_test_teardown(reads_what_the_writer_wrote, tear_down),
			cmocka_unit_test_teardown(reads_numbers, tear_down),
			cmocka_unit_test_teardown(decodes_escapes, tear_down),
			cmocka_unit_test_teardown(skips_anything, tear_down),
			cmocka_unit_test_teardown(refuses_what_is_no_json, tear_down),
			cmocka_unit_test_teardown(bounds_depth, tear_down),
			cmocka_unit_test_teardown(a_failure_stays, tear_down),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
