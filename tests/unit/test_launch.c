// SPDX-License-Identifier: MIT
#include "collector/launch/parts.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

static int wrapped(const char *const *argv) {
	return launch_wrapped((char *const *)(uintptr_t)argv);
}

static void wrappers(void **state) {
	(void)state;
	static const struct {
		const char *argv[12];
		int at;
	} cases[] = {
			{{"app", "x"}, 0},
			{{"timeout"}, 0},
			{{"timeout", "5"}, 0},
			{{"timeout", "5", "app", "-k", "x"}, 2},
			{{"/usr/bin/timeout", "5", "app"}, 2},
			{{"timeout", "-k", "3", "5", "app"}, 4},
			{{"timeout", "-k3", "5", "app"}, 3},
			{{"timeout", "-vk", "3", "5", "app"}, 4},
			{{"timeout", "--kill-after=3", "--foreground", "5", "app"}, 4},
			{{"timeout", "--kill-after", "3", "5", "app"}, 4},
			{{"timeout", "-s", "INT", "--", "5", "app"}, 5},
			{{"time", "app"}, 1},
			{{"time", "-v", "-o", "file", "app", "-o"}, 4},
			{{"env", "app"}, 0},
			{{"sudo", "app", "-u", "x"}, 1},
			{{"sudo", "-u", "root", "-E", "A=1", "app"}, 5},
			{{"sudo", "-uvictor", "--", "app"}, 3},
			{{"sudo", "-i", "app"}, 0}, // a shell
			{{"sudo", "--shell", "app"}, 0},
			{{"sudo", "-l"}, 0},
	};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		assert_int_equal(wrapped(cases[i].argv), cases[i].at);
	}
}

static void environment(void **state) {
	(void)state;
	struct arena arena = {0};
	char *const mine[] = {(char *)"A=1", (char *)"LD_PRELOAD=theirs.so:more.so",
			(char *)"HEAPTRACK_SEGMENT=1:2:3:4", (char *)"LD_PRELOAD_NOT=x",
			(char *)"ASAN_OPTIONS=halt_on_error=1", NULL};
	char **out = launch_environment("/lib/ours.so", mine, &arena);
	assert_non_null(out);
	assert_null(out[0]); // the segment's place
	assert_string_equal(out[1], "A=1");
	assert_string_equal(out[2], "LD_PRELOAD_NOT=x");
	assert_string_equal(out[3], "LD_PRELOAD=/lib/ours.so:theirs.so:more.so");
	assert_string_equal(out[4], "ASAN_OPTIONS=halt_on_error=1:verify_asan_link_order=0");
	assert_null(out[5]);

	char *const none[] = {NULL};
	out = launch_environment("/lib/ours.so", none, &arena);
	assert_string_equal(out[1], "LD_PRELOAD=/lib/ours.so");
	assert_string_equal(out[2], "ASAN_OPTIONS=verify_asan_link_order=0");
	assert_null(out[3]);
	arena_finish(&arena);
}

static void arguments(void **state) {
	(void)state;
	struct arena arena = {0};
	char *const argv[] = {(char *)"script", (char *)"a b", NULL};
	struct launch plain = {.path = "/x/script"}, shell = {.path = "/x/script", .needs_shell = true};
	char **out = launch_arguments(&plain, argv, &arena);
	assert_string_equal(out[0], "script");
	assert_string_equal(out[1], "a b");
	assert_null(out[2]);
	out = launch_arguments(&shell, argv, &arena);
	assert_string_equal(out[0], "/bin/sh");
	assert_string_equal(out[1], "/x/script");
	assert_string_equal(out[2], "a b");
	assert_null(out[3]);
	arena_finish(&arena);
}

static void verdicts(void **state) {
	(void)state;
	struct arena arena = {0};
	struct launch l;
	launch_inspect(&l, "sh", &arena);
	assert_int_equal(l.verdict, LAUNCH_RECORDED);
	assert_non_null(strchr(l.path, '/'));
	launch_inspect(&l, "/no/such/file", &arena);
	assert_int_equal(l.verdict, LAUNCH_REFUSED);
	assert_int_equal(l.exit_status, 127);
	launch_inspect(&l, "/etc", &arena);
	assert_int_equal(l.exit_status, 126);
	arena_finish(&arena);
}

int main(void) {
	const struct CMUnitTest tests[] = {
			cmocka_unit_test(wrappers),
			cmocka_unit_test(environment),
			cmocka_unit_test(arguments),
			cmocka_unit_test(verdicts),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
