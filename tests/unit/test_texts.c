// SPDX-License-Identifier: MIT
#include "base/index.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

static void same_text_same_id(void **state) {
	(void)state;
	struct texts t = {0};
	assert_int_equal(texts_id_of(&t, ""), 0);
	assert_int_equal(texts_id_of(&t, NULL), 0);
	uint32_t a = texts_id_of(&t, "a"), b = texts_id_of(&t, "b");
	assert_int_not_equal(a, 0);
	assert_int_not_equal(a, b);
	assert_int_equal(texts_id_of(&t, "a"), a);
	assert_true(slice_equal(t.items[b], slice_of_text("b")));
	texts_finish(&t);
}

static void many(void **state) {
	(void)state;
	enum { N = 20000 };
	struct texts t = {0};
	char text[32];
	for (int round = 0; round < 2; round++) {
		for (uint32_t i = 1; i <= N; i++) {
			(void)snprintf(text, sizeof text, "text %u", i);
			assert_int_equal(texts_id_of(&t, text), i);
		}
	}
	assert_int_equal(t.n, N + 1);
	for (uint32_t i = 1; i <= N; i++) {
		(void)snprintf(text, sizeof text, "text %u", i);
		assert_true(slice_equal(t.items[i], slice_of_text(text)));
	}
	texts_finish(&t);
}

int main(void) {
	const struct CMUnitTest tests[] = {
			cmocka_unit_test(same_text_same_id),
			cmocka_unit_test(many),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
