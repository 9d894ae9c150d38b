// SPDX-License-Identifier: MIT
#include "collector/control/serve.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

static bool asks(const char *line, size_t n, struct err *err) {
	enum control_command command = CONTROL_COMMANDS;
	*err = (struct err){0};
	bool ok = control_request(slice_of(line, n), &command, err);
	assert_true(!ok || command == CONTROL_STATUS);
	assert_true(ok == (err->text[0] == '\0'));
	return ok;
}

static void lines_that_are_understood(void **state) {
	(void)state;
	static const char *const lines[] = {"status", "status\r", "  status  ", "\tstatus\t"};
	struct err err;
	for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
		assert_true(asks(lines[i], strlen(lines[i]), &err));
	}
}

static void what_is_wrong_is_said(void **state) {
	(void)state;
	static const struct {
		const char *line, *says;
	} lines[] = {
			{"", "empty line; use \"status\" or \"look\""},
			{"   ", "empty line; use \"status\" or \"look\""},
			{"statsu", "unknown command \"statsu\"; did you mean \"status\"?"},
			{"STATUS", "unknown command \"STATUS\"; use \"status\" or \"look\""},
			{"status now", "\"status\" takes no arguments"},
			{"sta\x01tus", "the line contains control characters"},
			{"a\rb", "the line contains control characters"},
	};
	struct err err;
	for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
		assert_false(asks(lines[i].line, strlen(lines[i].line), &err));
		assert_string_equal(err.text, lines[i].says);
	}
	assert_false(asks("status\0", 7, &err));
	assert_false(asks("\0status", 7, &err));
}

static void any_length(void **state) {
	(void)state;
	struct err err;
	char *line = malloc(CONTROL_LINE_BYTES);
	assert_non_null(line);
	memset(line, 'x', CONTROL_LINE_BYTES);
	assert_false(asks(line, CONTROL_LINE_BYTES, &err));
	assert_true(strlen(err.text) < 100); // what is shown of it is cut
	memset(line, ' ', CONTROL_LINE_BYTES);
	memcpy(line, "status", 6);
	assert_true(asks(line, CONTROL_LINE_BYTES, &err));
	free(line);
}

static void places(void **state) {
	(void)state;
	struct control_place folders[CONTROL_FOLDERS], place;
	assert_int_equal(control_folders(folders, 7, "/r", ""), 2);
	assert_string_equal(folders[0].name, "/r/heaptrack");
	assert_string_equal(folders[1].name, "/run/user/7/heaptrack");
	assert_true(control_in_folder(&place, &folders[0], 4194304));
	assert_string_equal(place.name, "/r/heaptrack/4194304.sock");
	assert_int_equal(control_folders(folders, 7, "r", ""), 1); // as the rules of XDG have it
	assert_int_equal(control_folders(folders, 7, NULL, "/proc/1/root"), 1);
	assert_string_equal(folders[0].name, "/proc/1/root/run/user/7/heaptrack");
	assert_int_equal(control_folders(folders, 0, "/r", ""), 3);
	assert_string_equal(folders[2].name, "/run/heaptrack");
	char runtime[UNIX_NAME_BYTES];
	memset(runtime, 'x', sizeof runtime);
	runtime[0] = '/';
	for (size_t n = 1; n < sizeof runtime; n++) { // no name is cut
		runtime[n] = '\0';
		bool fits = control_folders(folders, 7, runtime, "") == 2 &&
				control_in_folder(&place, &folders[0], 12345);
		assert_int_equal(fits, n + strlen("/heaptrack/12345.sock") < UNIX_NAME_BYTES);
		runtime[n] = 'x';
	}
}

int main(void) {
	const struct CMUnitTest tests[] = {
			cmocka_unit_test(lines_that_are_understood),
			cmocka_unit_test(what_is_wrong_is_said),
			cmocka_unit_test(any_length),
			cmocka_unit_test(places),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
