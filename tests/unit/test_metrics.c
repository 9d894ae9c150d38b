// SPDX-License-Identifier: MIT

// The table of metrics has all that is asked of a row, and nothing twice

#include "engine/lens.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <cmocka.h>

static void test_rows_are_whole(void **state) {
	(void)state;
	for (enum lens_metric i = 0; i < N_LENS_METRICS; i++) {
		const struct metric *m = &lens_metrics[i];
		assert_true(m->rule < N_METRIC_RULES);
		assert_true(m->bytes.name && m->bytes.at <= sizeof(struct rec_stack) - sizeof(uint64_t));
		assert_true(m->blocks.name && m->blocks.at <= sizeof(struct rec_stack) - sizeof(uint64_t));
		const bool is_of_blocks = m->of == METRIC_OF_BLOCKS; // the page and files of others have
		assert_true(!m->bytes.number == !is_of_blocks && !m->blocks.number == !is_of_blocks);
		assert_true(m->help && m->title && m->share && m->unit);
		assert_true(!m->page.heading == !is_of_blocks);
		assert_true(!m->report.place == !m->report.title && !m->report.title == !m->report.unit);
		assert_true(strlen(lens_metric_names[i]) < METRIC_KEY_MAX);
		for (enum lens_metric k = 0; k < i; k++) {
			assert_string_not_equal(lens_metric_names[k], lens_metric_names[i]);
			assert_string_not_equal(lens_metrics[k].title, m->title);
			assert_true(!m->page.key || lens_metrics[k].page.key != m->page.key);
			assert_true(!m->report.place || lens_metrics[k].report.place != m->report.place);
		}
	}
	for (int i = 0; i < N_METRIC_RULES; i++) {
		assert_true(metric_rule_texts[i].name && metric_rule_texts[i].help);
	}
}

static void test_order_of_the_report(void **state) {
	(void)state;
	enum lens_metric list[N_LENS_METRICS];
	size_t n = metrics_of_report(list), n_wanted = 0;
	for (enum lens_metric i = 0; i < N_LENS_METRICS; i++) {
		n_wanted += lens_metrics[i].report.title != NULL;
	}
	assert_int_equal(n, n_wanted);
	for (size_t i = 0; i < n; i++) {
		assert_int_equal(lens_metrics[list[i]].report.place, i + 1);
	}
}

static void test_keys(void **state) {
	(void)state;
	char key[METRIC_KEY_MAX];
	assert_string_equal(metric_json_key(key, LENS_NEVER_FREED), "never_freed");
	assert_string_equal(metric_json_key(key, LENS_PEAK), "peak");
}

int main(void) {
	const struct CMUnitTest tests[] = {
			cmocka_unit_test(test_rows_are_whole),
			cmocka_unit_test(test_order_of_the_report),
			cmocka_unit_test(test_keys),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
