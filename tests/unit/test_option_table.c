// SPDX-License-Identifier: MIT
#include "cli/options/table.h"
#include "cli/print/options.h"
#include "cli/record/options.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>
#include <cmocka.h>

static const struct option_table *const tables[] = {&heaptrack_option_table, &print_option_table,
		&gui_option_table, &interpret_option_table};
enum { N_TABLES = sizeof tables / sizeof *tables, ROWS_MAX = 128, WORDS_MAX = 16 };

static size_t gather(const struct option_table *table, const struct option_row *rows[ROWS_MAX]) {
	size_t n = 0;
	for (size_t i = 0; i < table->n_rows; i++) {
		assert_true(n < ROWS_MAX);
		assert_true(!table->rows[i].name != !table->rows[i].section);
		rows[n] = &table->rows[i];
		n += table->rows[i].name != NULL;
	}
	return n;
}

static void no_name_stands_twice(void **state) {
	(void)state;
	for (size_t t = 0; t < N_TABLES; t++) {
		const struct option_row *rows[ROWS_MAX];
		size_t n = gather(tables[t], rows);
		assert_true(n > 0);
		for (size_t i = 0; i < n; i++) {
			assert_non_null(rows[i]->take);
			bool has_value = rows[i]->value != VALUE_NONE && rows[i]->value != VALUE_SWITCH;
			assert_true(!rows[i]->help || !has_value || rows[i]->value_name);
			for (size_t k = 0; k < i; k++) {
				assert_string_not_equal(rows[i]->name, rows[k]->name);
				assert_true(!rows[i]->letter || rows[i]->letter != rows[k]->letter);
			}
		}
	}
}

/** KDE's letters and names (shared by all releases from 1.2 to 1.5), which never mean another thing. */
static void the_original_s_options_are_there(void **state) {
	(void)state;
	static const struct {
		const struct option_table *table;
		const char *letters;
		const char *names[40];
	} originals[] = {
			{&heaptrack_option_table, "droqpiahv",
					{"debug", "raw", "output", "quiet", "pid", "interpret", "analyze", "help",
							"version", "use-inject", "asan", "record-only"}},
			{&print_option_table, "fdtmpaTlnsFHMhv",
					{"file", "diff", "shorten-templates", "merge-backtraces", "print-peaks",
							"print-allocators", "print-temporary", "print-leaks", "peak-limit",
							"sub-peak-limit", "print-flamegraph", "flamegraph-cost-type",
							"print-histogram", "print-massif", "massif-threshold",
							"massif-detailed-freq", "suppressions", "disable-embedded-suppressions",
							"disable-builtin-suppressions", "print-suppressions", "help",
							"version"}},
	};
	for (size_t t = 0; t < sizeof originals / sizeof *originals; t++) {
		const struct option_row *rows[ROWS_MAX];
		size_t n = gather(originals[t].table, rows);
		for (const char *letter = originals[t].letters; *letter; letter++) {
			bool is_there = false;
			for (size_t i = 0; i < n; i++) {
				is_there |= rows[i]->letter == *letter;
			}
			assert_true(is_there);
		}
		for (const char *const *name = originals[t].names; *name; name++) {
			bool is_there = false;
			for (size_t i = 0; i < n; i++) {
				is_there |= strcmp(rows[i]->name, *name) == 0;
			}
			assert_true(is_there);
		}
	}
}

/** The words of a line behind words[0], ended by NULL. */
static int split(char *line, char *words[WORDS_MAX]) {
	int n = 1;
	for (char *word = strtok(line, " "); word; word = strtok(NULL, " ")) {
		assert_true(n < WORDS_MAX - 1);
		words[n++] = word;
	}
	words[n] = NULL;
	return n;
}

static bool print_parses(const char *line, struct print_options *o, struct err *err) {
	static char copy[256]; // options keep texts of it
	static char name[] = "x";
	static char *words[WORDS_MAX];
	(void)snprintf(copy, sizeof copy, "%s", line);
	int n = split(copy, words);
	words[0] = name;
	*err = (struct err){0};
	return print_options_parse(o, n, words, err);
}

static void values_are_taken(void **state) {
	(void)state;
	struct print_options o;
	struct err err;
	assert_true(print_parses("file --limit=7 -l -T 0 -m1 --html-limit 30M", &o, &err));
	assert_int_equal(o.limit, 7);
	assert_true(o.classic.leaks && !o.classic.temporary && o.classic.merge_backtraces);
	assert_int_equal(o.html_limit, 30000000);
	assert_string_equal(o.file, "file");
	assert_true(print_parses("-l file", &o, &err)); // only 0 and 1 belong to a switch
	assert_true(o.classic.leaks);
	assert_string_equal(o.file, "file");
	assert_true(print_parses("-n3 --sub-peak 4 -f file", &o, &err));
	assert_int_equal(o.classic.peak_limit, 3);
	assert_int_equal(o.classic.sub_peak_limit, 4);
	assert_string_equal(o.file, "file");
	assert_true(print_parses("--tree -- -odd", &o, &err));
	assert_string_equal(o.file, "-odd");
}

static void what_is_wrong_is_said(void **state) {
	(void)state;
	static const struct {
		const char *line, *message;
	} cases[] = {
			{"--fulll f", "unknown option \"--fulll\"; did you mean \"--full\"?"},
			{"--tre=3 f", "option \"--tree\" takes no value"},
			{"--treee=3 f", "unknown option \"--treee\"; did you mean \"--tree\"?"},
			{"--laens x f", "unknown option \"--laens\"; did you mean \"--lens\"?"},
			{"--elephant f", "unknown option \"--elephant\"; see heaptrack_print --help"},
			{"-Z f", "unknown option \"-Z\"; see heaptrack_print --help"},
			{"--base x f", NULL}, // an abbreviation of one
			{"--html", "option \"--html\" needs a value: --html OUT"},
			{"-F", "option \"--print-flamegraph\" needs a value: --print-flamegraph OUT"},
			{"--ht x f", "option \"--ht\" is ambiguous: --html, --html-limit"},
			{"--limit many f", "--limit: invalid number \"many\""},
			{"--limit -3 f", "--limit: invalid number \"-3\""},
			{"--html-limit 3X f", "--html-limit: invalid size \"3X\"; use e.g. 256M or 2G"},
			{"-l2 f", "--print-leaks: invalid value \"2\"; use 0 or 1"},
			{"--by colour f",
					"--by: unknown list \"colour\"; use one of: function package module file site class "
					"type grade thread tid process command size lifetime"},
	};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct print_options o;
		struct err err;
		bool ok = print_parses(cases[i].line, &o, &err);
		assert_int_equal(ok, cases[i].message == NULL);
		if (!ok) {
			assert_string_equal(err.text, cases[i].message);
		}
	}
}

static void a_program_keeps_its_options(void **state) {
	(void)state;
	static const struct {
		const char *line, *first;
		int n, what;
	} cases[] = {
			{"-q top -p 3", "top", 3, ASKED_RECORD},
			{"agent --push x", "agent", 3, ASKED_RECORD},
			{"-- --odd", "--odd", 1, ASKED_RECORD},
			{"-a file --json", "file", 2, ASKED_ANALYZE},
			{"--interpret file --sysroot x", "file", 3, ASKED_INTERPRET},
			{"-p 12 --duration 90s", NULL, 0, ASKED_ATTACH},
	};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		char copy[64], name[] = "heaptrack";
		char *words[WORDS_MAX];
		(void)snprintf(copy, sizeof copy, "%s", cases[i].line);
		int n = split(copy, words);
		words[0] = name;
		struct heaptrack_options o;
		struct err err = {0};
		assert_true(heaptrack_options_parse(&o, n, words, &err));
		assert_int_equal(o.what, cases[i].what);
		assert_int_equal(o.n_rest, cases[i].n);
		if (cases[i].first) {
			assert_string_equal(o.rest[0], cases[i].first);
		} else {
			assert_int_equal(o.attach.duration_ns, 90000000000);
		}
	}
}

int main(void) {
	const struct CMUnitTest tests[] = {
			cmocka_unit_test(no_name_stands_twice),
			cmocka_unit_test(the_original_s_options_are_there),
			cmocka_unit_test(values_are_taken),
			cmocka_unit_test(what_is_wrong_is_said),
			cmocka_unit_test(a_program_keeps_its_options),
	};
	return cmocka_run_group_tests_name("option_table", tests, NULL, NULL);
}
