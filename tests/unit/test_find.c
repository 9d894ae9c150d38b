// SPDX-License-Identifier: MIT
#include "session/open/parts.h"

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

static char folder[] = "/tmp/find-XXXXXX";

static void make(const char *name, const char *begin, size_t n) {
	char path[128];
	(void)snprintf(path, sizeof path, "%s/%s", folder, name);
	FILE *f = fopen(path, "w");
	assert_non_null(f);
	assert_int_equal(fwrite(begin, 1, n, f), n);
	(void)fclose(f);
}

static int set_up(void **state) {
	(void)state;
	if (!mkdtemp(folder)) {
		return -1;
	}
	static const char head[] = "P*M\x18\x38\0\0\0heaptrk\x01";
	make("lodestar.heapdump.zst", head, sizeof head);
	make("lodestar.sources.zst", "", 0);
	make("heaptrack.app.12.gz", "", 0);
	make("notes.txt", "", 0);
	return chdir(folder);
}

static int tear_down(void **state) {
	(void)state;
	char command[64];
	(void)snprintf(command, sizeof command, "rm -r %s", folder);
	return chdir("/") || system(command);
}

static void assert_finds(const char *name, const char *expected) {
	struct err err = {0};
	char *path = find_recording(name, &err);
	assert_non_null(path);
	assert_string_equal(path, expected);
	free(path);
}

static void finds_the_file_itself(void **state) {
	(void)state;
	assert_finds("notes.txt", "notes.txt");
}

static void completes_the_suffix(void **state) {
	(void)state;
	assert_finds("lodestar.heapdump", "lodestar.heapdump.zst");
	assert_finds("heaptrack.app.12", "heaptrack.app.12.gz");
	assert_finds("./lodestar.heapdump", "./lodestar.heapdump.zst");
}

static void lists_what_is_near(void **state) {
	(void)state;
	struct err err = {0};
	assert_null(find_recording("lodestar.dump", &err));
	assert_int_equal(err.code, ERR_NOT_FOUND);
	assert_string_equal(err.text,
			"lodestar.dump: no such file; recordings there: "
			"lodestar.heapdump.zst, heaptrack.app.12.gz");
}

static void says_when_there_is_none(void **state) {
	(void)state;
	struct err err = {0};
	assert_null(find_recording("/nowhere/x", &err));
	assert_string_equal(err.text, "/nowhere/x: no such file, and no recording in that folder");
}

int main(void) {
	const struct CMUnitTest tests[] = {
			cmocka_unit_test(finds_the_file_itself),
			cmocka_unit_test(completes_the_suffix),
			cmocka_unit_test(lists_what_is_near),
			cmocka_unit_test(says_when_there_is_none),
	};
	return cmocka_run_group_tests(tests, set_up, tear_down);
}
