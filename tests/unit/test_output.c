// SPDX-License-Identifier: MIT
#include "collector/file/output.h"
#include "sys/file.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>

static char folder[64];

static int enter_folder(void **state) {
	(void)state;
	strcpy(folder, "/tmp/test-output-XXXXXX");
	return mkdtemp(folder) && chdir(folder) == 0 ? 0 : -1;
}

static int leave_folder(void **state) {
	(void)state;
	char command[128];
	(void)snprintf(command, sizeof command, "rm -r '%s'", folder);
	return chdir("/") == 0 && system(command) == 0 ? 0 : -1;
}

static void suffixes(void **state) {
	(void)state;
	static const struct {
		const char *given, *made;
		bool was_replaced;
	} cases[] = {
			{"a", "a.zst", false},
			{"a.zst", "a.zst", false},
			{"a.heapdump", "a.heapdump.zst", false},
			{"a.gz", "a.zst", true},
			{"a.b.xz", "a.b.zst", true},
			{"dir.gz/a", "dir.gz/a.zst", false},
			{".zst", ".zst.zst", false},
			{".gz", ".gz.zst", false},
			{"two words.bz2", "two words.zst", true},
	};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		char made[64];
		bool was_replaced;
		output_suffix(made, sizeof made, cases[i].given, &was_replaced);
		assert_string_equal(made, cases[i].made);
		assert_int_equal(was_replaced, cases[i].was_replaced);
	}
}

static void placeholders(void **state) {
	(void)state;
	char host[256], expected[512], made[512];
	assert_int_equal(gethostname(host, sizeof host), 0);
	(void)snprintf(expected, sizeof expected, "%s-42-%%-%%x%%", host);
	output_expand(made, sizeof made, "%h-%p-%%-%x%", 42);
	assert_string_equal(made, expected);

	char small[6];
	output_expand(small, sizeof small, "%p%p%p", 1234);
	assert_string_equal(small, "12341");
}

static bool open_named(struct output *o, const char *name, bool overwrite, struct err *err) {
	struct output_request request = {.name = name,
			.program = "x",
			.pid = 7,
			.overwrite = overwrite};
	return output_open(o, &request, err);
}

static void write_and_read_back(void **state) {
	(void)state;
	static struct output o;
	struct err err = {0};
	assert_true(open_named(&o, "a", false, &err));
	struct trace_sink sink = output_sink(&o);
	assert_true(sink.write(sink.user, 5, "hello", 5, &err));
	assert_true(sink.write(sink.user, 0, "12345", 5, &err));
	struct trace_source source = output_source(&o);
	char text[16] = "";
	size_t got;
	assert_int_equal(source.size, 10);
	assert_true(source.read(source.user, 0, text, sizeof text, &got, &err));
	assert_int_equal(got, 10);
	assert_string_equal(text, "12345hello");
	output_close(&o, true);
	assert_int_equal(access("a.zst", F_OK), 0);
}

static void not_worth_keeping(void **state) {
	(void)state;
	static struct output o;
	assert_true(open_named(&o, "b", false, NULL));
	output_close(&o, false);
	assert_int_not_equal(access("b.zst", F_OK), 0);
	output_close(&o, false); // nothing to do
}

static void growth_stops_before_the_reserve(void **state) {
	(void)state;
	static struct output o;
	struct err err = {0};
	assert_true(open_named(&o, "c", false, &err));
	assert_true(o.reserve_bytes <= 1 << 30);
	struct trace_sink sink = output_sink(&o);
	assert_true(sink.write(sink.user, 0, "1234567890", 10, &err));
	o.reserve_bytes = UINT64_MAX; // as if the disk had filled up meanwhile
	assert_true(sink.write(sink.user, 5, "abcde", 5, &err)); // no growth
	assert_false(sink.write(sink.user, 5, "abcdef", 6, &err));
	assert_int_equal(err.code, ERR_LIMIT);
	struct stat s;
	assert_int_equal(stat("c.zst", &s), 0);
	assert_int_equal(s.st_size, 10);
	output_close(&o, false);
}

static bool write_finished(void *user, struct trace_sink sink, struct err *err) {
	return user ? sink.write(sink.user, 0, "finished", 8, err)
				: sink.write(sink.user, 0, "half", 4, err) && err_set(err, ERR_LIMIT, "no");
}

static size_t files_here(void) {
	FILE *p = popen("ls -A | wc -l", "r");
	unsigned n = 0;
	assert_int_equal(fscanf(p, "%u", &n), 1);
	(void)pclose(p);
	return n;
}

static void the_finished_file_takes_the_place(void **state) {
	(void)state;
	static struct output o;
	struct err err = {0};
	assert_true(open_named(&o, "d", false, &err));
	struct trace_sink sink = output_sink(&o);
	assert_true(sink.write(sink.user, 0, "a growing file", 14, &err));
	size_t before = files_here();

	assert_false(output_replace(&o, write_finished, NULL, &err));
	assert_int_equal(files_here(), before);
	struct stat s;
	assert_int_equal(stat("d.zst", &s), 0);
	assert_int_equal(s.st_size, 14);

	assert_true(output_replace(&o, write_finished, &o, &err));
	assert_int_equal(files_here(), before);
	assert_int_equal(stat("d.zst", &s), 0);
	assert_int_equal(s.st_size, 8);

	output_close(&o, true);
}

// Moved: there. Removed: under its name again. Replaced by another's: under a number
static void a_file_that_went_is_written_anew(void **state) {
	(void)state;
	static struct output o;
	struct err err = {0};
	assert_true(open_named(&o, "m", false, &err));
	assert_int_equal(rename("m.zst", "moved.zst"), 0);
	assert_true(output_replace(&o, write_finished, &o, &err));
	assert_non_null(strstr(o.path, "moved.zst"));
	assert_non_null(strstr(o.notes[0], "was moved to"));
	assert_int_not_equal(access("m.zst", F_OK), 0);
	struct stat s;
	assert_int_equal(stat("moved.zst", &s), 0);
	assert_int_equal(s.st_size, 8);

	assert_int_equal(unlink("moved.zst"), 0);
	assert_false(output_is_there(&o));
	assert_true(output_replace(&o, write_finished, &o, &err));
	assert_true(output_is_there(&o));
	assert_non_null(strstr(o.notes[1], "was removed while"));
	assert_int_equal(access("moved.zst", F_OK), 0);

	FILE *f = fopen("other", "w");
	(void)fclose(f);
	assert_int_equal(rename("other", "moved.zst"), 0);
	assert_true(output_replace(&o, write_finished, &o, &err));
	assert_non_null(strstr(o.path, "moved.1.zst"));
	assert_non_null(strstr(o.notes[2], "was replaced while"));
	assert_int_equal(stat("moved.zst", &s), 0);
	assert_int_equal(s.st_size, 0);
	output_close(&o, true);
}

static void a_name_in_use_is_left_to_its_user(void **state) {
	(void)state;
	static struct output first, second, third;
	struct err err = {0};
	assert_true(open_named(&first, "u", false, &err));
	assert_true(open_named(&second, "u", true, &err)); // nor does --force take it away
	assert_true(open_named(&third, "u", false, &err));
	assert_non_null(strstr(first.path, "u.zst"));
	assert_non_null(strstr(second.path, "u.1.zst"));
	assert_non_null(strstr(third.path, "u.2.zst"));
	assert_true(file_is_same(first.fd, "u.zst"));
	output_close(&first, true);
	output_close(&second, true);
	output_close(&third, true);
}

static void a_foreign_file_is_left_alone(void **state) {
	(void)state;
	FILE *f = fopen("e.zst", "w");
	(void)fputs("mine", f);
	(void)fclose(f);
	static struct output o;
	struct err err = {0};
	assert_false(open_named(&o, "e", true, &err));
	assert_int_equal(err.code, ERR_USAGE);
	assert_int_equal(o.fd, -1);
	struct stat s;
	assert_int_equal(stat("e.zst", &s), 0);
	assert_int_equal(s.st_size, 4);
}

static void an_empty_file_is_taken(void **state) {
	(void)state;
	(void)fclose(fopen("f.zst", "w"));
	static struct output o;
	assert_true(open_named(&o, "f", false, NULL));
	output_close(&o, true);
}

static void the_default_name(void **state) {
	(void)state;
	static struct output o;
	struct output_request request = {.program = "/usr/bin/my app", .pid = 7};
	assert_true(output_open(&o, &request, NULL));
	char expected[128];
	(void)snprintf(expected, sizeof expected, "%s/heaptrack.my app.7.zst", folder);
	assert_string_equal(o.path, expected);
	output_close(&o, true);
}

int main(void) {
	const struct CMUnitTest tests[] = {
			cmocka_unit_test(suffixes),
			cmocka_unit_test(placeholders),
			cmocka_unit_test(write_and_read_back),
			cmocka_unit_test(not_worth_keeping),
			cmocka_unit_test(growth_stops_before_the_reserve),
			cmocka_unit_test(the_finished_file_takes_the_place),
			cmocka_unit_test(a_file_that_went_is_written_anew),
			cmocka_unit_test(a_name_in_use_is_left_to_its_user),
			cmocka_unit_test(a_foreign_file_is_left_alone),
			cmocka_unit_test(an_empty_file_is_taken),
			cmocka_unit_test(the_default_name),
	};
	return cmocka_run_group_tests(tests, enter_folder, leave_folder);
}
