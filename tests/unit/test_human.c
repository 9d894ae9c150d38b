// SPDX-License-Identifier: MIT
#include "base/text.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

static void says_bytes(void **state) {
	(void)state;
	char out[HUMAN_MAX];
	assert_string_equal(human_bytes(out, 0), "0 B");
	assert_string_equal(human_bytes(out, 999), "999 B");
	assert_string_equal(human_bytes(out, 1000), "1.0 kB");
	assert_string_equal(human_bytes(out, 542312), "542.3 kB");
	assert_string_equal(human_bytes(out, 38500000), "38.5 MB");
	assert_string_equal(human_bytes(out, 999949), "999.9 kB");
	assert_string_equal(human_bytes(out, 999950), "1.0 MB"); // never "1000.0 kB"
	assert_string_equal(human_bytes(out, UINT64_MAX), "18.4 EB");
	assert_string_equal(human_compact(out, 16800000), "16.8M");
	assert_string_equal(human_compact(out, 12), "12");
}

static void says_counts(void **state) {
	(void)state;
	char out[HUMAN_MAX];
	assert_string_equal(human_count(out, 0), "0");
	assert_string_equal(human_count(out, 999), "999");
	assert_string_equal(human_count(out, 1000), "1,000");
	assert_string_equal(human_count(out, UINT64_MAX), "18,446,744,073,709,551,615");
}

static void says_durations(void **state) {
	(void)state;
	char out[HUMAN_MAX];
	assert_string_equal(human_duration(out, 800000), "0.8 ms");
	assert_string_equal(human_duration(out, 412000000), "412 ms");
	assert_string_equal(human_span(out, 2000), "less than 1 ms");
	assert_string_equal(human_span(out, 1700000), "1.7 ms");
	assert_string_equal(human_duration(out, 5190000000), "5.19 s");
	assert_string_equal(human_duration(out, 187000000000), "3 min 07 s");
	assert_string_equal(human_duration(out, 7500000000000), "2 h 05 min");
	assert_string_equal(human_duration(out, UINT64_MAX), "213503 d 23 h");
}

static void says_percent_without_lying(void **state) {
	(void)state;
	char out[HUMAN_MAX];
	assert_string_equal(human_percent(out, 0, 10), "0 %");
	assert_string_equal(human_percent(out, 1, 100000), "< 0.1 %");
	assert_string_equal(human_percent(out, 4, 100), "4.0 %");
	assert_string_equal(human_percent(out, 85, 100), "85 %");
	assert_string_equal(human_percent(out, 99999, 100000), "99 %"); // not all
	assert_string_equal(human_percent(out, 7, 7), "100 %");
	assert_string_equal(human_percent(out, 7, 0), "0 %");
	assert_string_equal(human_percent(out, 3, 2), "150 %");
	assert_string_equal(human_share(out, 0, 10, 1), "0.0");
	assert_string_equal(human_share(out, 1, 100000, 1), "<0.1");
	assert_string_equal(human_share(out, 99999, 100000, 1), "99.9");
	assert_string_equal(human_share(out, 1, 1000, 0), "<1");
	assert_string_equal(human_share(out, 999, 1000, 0), "99");
	assert_string_equal(human_share(out, 7, 7, 0), "100");
}

static void says_what_kde_says(void **state) {
	(void)state;
	char out[HUMAN_MAX];
	assert_string_equal(human_classic(out, 60), "60B");
	assert_string_equal(human_classic(out, 1000), "1000B");
	assert_string_equal(human_classic(out, 81980), "81.98K");
	assert_string_equal(human_classic(out, 996970), "996.97K");
	assert_string_equal(human_classic(out, 4200000), "4.20M");
}

int main(void) {
	const struct CMUnitTest tests[] = {
			cmocka_unit_test(says_bytes),
			cmocka_unit_test(says_counts),
			cmocka_unit_test(says_durations),
			cmocka_unit_test(says_percent_without_lying),
			cmocka_unit_test(says_what_kde_says),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
