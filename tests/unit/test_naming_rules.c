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
	vec_finish(&rules);
	arena_finish(&arena);
	buffer_finish(&complaints);
	return 0;
}

static void parse(const char *text) {
	buffer_clear(&complaints);
	naming_rules_parse(&rules, slice_of_text(text), "rc", &arena, &complaints);
	buffer_u8(&complaints, 0);
}

static const struct naming_rule *find(const char *function, const char *file, const char *module) {
	return naming_rules_find(&rules, slice_of_text(function), slice_of_text(file),
			slice_of_text(module));
}

static void the_first_that_matches_decides(void **state) {
	(void)state;
	parse("# who is who\n"
		  "yours   third_party/mine  # ours after all\n"
		  "\n"
		  "library third_party/\n"
		  "fold pool_*::get");
	assert_int_equal(find("f", "/s/third_party/mine/a.c", "")->kind, NAMING_YOURS);
	assert_int_equal(find("f", "/s/third_party/zlib/a.c", "")->kind, NAMING_LIBRARY);
	assert_int_equal(find("f", "", "/opt/third_party/libz.so")->kind, NAMING_LIBRARY);
	assert_int_equal(find("app::pool_of<int>::get(int)", "", "")->kind, NAMING_FOLD);
	assert_null(find("app::get::pool_", "", ""));
	assert_null(find("main", "/s/main.c", "/s/main"));
}

static void says_which_line_is_no_rule(void **state) {
	(void)state;
	parse("fold x\nforget y\nyours z");
	assert_string_equal((const char *)complaints.data,
			"rc: line 2: \"forget y\" is not a rule and is ignored; use yours PATTERN, "
			"library PATTERN or fold PATTERN\n");
	assert_int_equal(find("z", "", "")->kind, NAMING_YOURS); // what follows holds
	parse("library");
	assert_non_null(strstr((const char *)complaints.data, "\"library\""));
	parse("a\nb\nc\nd\ne\n");
	assert_non_null(strstr((const char *)complaints.data, "rc: 2 more such lines\n"));
}

static const char *site_of(const struct recording *r, uint32_t node) {
	struct names *n = names_create(r, &rules);
	assert_non_null(n);
	const char *text = arena_text(&arena, names_site(n, node)->function);
	names_destroy(n);
	return text;
}

static void come_before_all_others(void **state) {
	(void)state;
	struct recording r = sample_recording();
	assert_string_equal(site_of(&r, N_NEW), "make_row(int)");
	parse("fold make_row\nlibrary libx.so\n");
	assert_string_equal(site_of(&r, N_NEW), "spike(int)");
	assert_string_equal(site_of(&r, N_PARSE_X), "parse(char const*)");
	parse("yours std::vector\n");
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
