// SPDX-License-Identifier: MIT
#include "engine/names.h"
#include "sample_recording.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

static struct arena arena;
static struct naming_rules rules;
static struct buffer complaints;

static int tear_down(void **state) {
	(void)state;
	rules = (struct naming_rules){0};
	arena_finish(&arena);
	buffer_finish(&complaints);
	return 0;
}

static bool parse(const char *text, struct err *err) {
	buffer_clear(&complaints);
	bool ok = naming_rules_parse(&rules, slice_of_text(text), "rc", &arena, &complaints, err);
	buffer_u8(&complaints, 0);
	return ok;
}

static const struct naming_rule *find(const char *function, const char *file, const char *module) {
	return naming_rules_find(&rules, slice_of_text(function), slice_of_text(file),
			slice_of_text(module));
}

static void the_first_that_matches_decides(void **state) {
	(void)state;
	assert_true(parse("# who is who\n"
					  "yours   third_party/mine  # ours after all\n"
					  "\n"
					  "library third_party/\n"
					  "fold pool_*::get",
			NULL));
	assert_int_equal(find("f", "/s/third_party/mine/a.c", "")->kind, NAMING_YOURS);
	assert_int_equal(find("f", "/s/third_party/zlib/a.c", "")->kind, NAMING_LIBRARY);
	assert_int_equal(find("f", "", "/opt/third_party/libz.so")->kind, NAMING_LIBRARY);
	assert_int_equal(find("app::pool_of<int>::get(int)", "", "")->kind, NAMING_FOLD);
	assert_null(find("app::get::pool_", "", ""));
	assert_null(find("main", "/s/main.c", "/s/main"));
}

static void says_which_line_is_no_rule(void **state) {
	(void)state;
	struct err err = {0};
	assert_true(parse("fold x\nforget y\nyours z", &err));
	assert_string_equal((const char *)complaints.data,
			"rc: line 2: \"forget y\" is not a rule and is ignored; use yours PATTERN, "
			"library PATTERN or fold PATTERN\n");
	assert_int_equal(find("z", "", "")->kind, NAMING_YOURS); // what follows holds
	assert_true(parse("library", &err));
	assert_non_null(strstr((const char *)complaints.data, "\"library\""));
	assert_true(parse("a\nb\nc\nd\ne\n", &err));
	assert_non_null(strstr((const char *)complaints.data, "rc: 2 more such lines\n"));
}

static const char *site_of(const struct recording *r, uint32_t node) {
	struct names *n = names_create(r, &rules, NULL);
	assert_non_null(n);
	const char *text = arena_text(&arena, names_site(n, node)->function);
	names_destroy(n);
	return text;
}

static void come_before_all_others(void **state) {
	(void)state;
	struct recording r = sample_recording();
	assert_string_equal(site_of(&r, N_NEW), "make_row(int)");
	assert_true(parse("fold make_row\nlibrary libx.so\n", NULL));
	assert_string_equal(site_of(&r, N_NEW), "spike(int)");
	assert_string_equal(site_of(&r, N_PARSE_X), "parse(char const*)");
	assert_true(parse("yours std::vector\n", NULL));
	assert_string_equal(site_of(&r, N_NEW),
			"std::vector<double, std::allocator<double> >::reserve(unsigned long)");
}

int main(void) {
	const struct CMUnitTest tests[] = {
			cmocka_unit_test_teardown(the_first_that_matches_decides, tear_down),
			cmocka_unit_test_teardown(says_which_line_is_no_rule, tear_down),
			cmocka_unit_test_teardown(come_before_all_others, tear_down),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
