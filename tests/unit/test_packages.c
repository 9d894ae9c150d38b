// SPDX-License-Identifier: MIT
#include "symbols/symbols.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>

// A root folder with the databases of dpkg and of apk, which no system has both of

static const struct {
	const char *path, *text;
} files[] = {
		{"/var", NULL},
		{"/var/lib", NULL},
		{"/var/lib/dpkg", NULL},
		{"/var/lib/dpkg/info", NULL},
		{"/var/lib/dpkg/status",
				"Package: ghostscript\nStatus: install ok installed\nArchitecture: amd64\n"
				"Multi-Arch: foreign\nVersion: 10\nDescription: x\n Source: not a field\n\n"
				"Package: libgs10\nArchitecture: amd64\nMulti-Arch: same\n"
				"Source: ghostscript (10.0.0~dfsg-11)\n\n"
				"Package: gone\nArchitecture: amd64\n\n"
				"Package: all\nArchitecture: all\n\n"
				"Package: Zebra-data\nSource: zebra\nArchitecture: amd64\n\n"
				"Package: libz\nArchitecture: amd64\nMulti-Arch: same"},
		{"/var/lib/dpkg/info/ghostscript.list", "/.\n/usr\n/usr/bin\n/usr/bin/gs\n/usr/share/x\n"},
		{"/var/lib/dpkg/info/libgs10:amd64.list", "/usr/lib/x86_64-linux-gnu/libgs.so.10\n"},
		{"/var/lib/dpkg/info/libz:amd64.list", "/lib/x86_64-linux-gnu/libz.so.1"},
		{"/var/lib/dpkg/info/all.list", "/usr/bin/all\n/usr/bin/gs\n"},
		{"/var/lib/dpkg/info/Zebra-data.list", "/usr/lib/libzebras.so.1\n/usr/lib/libother.so.1\n"},
		{"/lib", NULL},
		{"/lib/apk", NULL},
		{"/lib/apk/db", NULL},
		{"/lib/apk/db/installed",
				"P:redis\nV:7\no:redis\nF:usr/bin\nR:redis-server\na:0:0:755\n\n"
				"P:libssl3\no:openssl\nF:lib\nR:libssl.so.3\nF:usr/lib\nR:libssl.so.3x\n\n"},
};
enum { N_FILES = sizeof files / sizeof *files };

static char root[] = "/tmp/packages-XXXXXX";
static struct packages *packages;

static int set_up(void **state) {
	(void)state;
	char path[200];
	if (!mkdtemp(root)) {
		return -1;
	}
	for (size_t i = 0; i < N_FILES; i++) {
		(void)snprintf(path, sizeof path, "%s%s", root, files[i].path);
		FILE *file = files[i].text ? fopen(path, "w") : NULL;
		if (file ? fputs(files[i].text, file) < 0 || fclose(file) : mkdir(path, 0700)) {
			return -1;
		}
	}
	packages = packages_create(open(root, O_PATH | O_DIRECTORY | O_CLOEXEC));
	return packages ? 0 : -1;
}

static int tear_down(void **state) {
	(void)state;
	char path[200];
	packages_destroy(packages);
	for (size_t i = N_FILES; i-- > 0;) {
		(void)snprintf(path, sizeof path, "%s%s", root, files[i].path);
		(void)remove(path);
	}
	return remove(root);
}

static void assert_source(const char *path, const char *expected) {
	struct slice source = packages_source_of(packages, path);
	assert_int_equal(source.size, strlen(expected));
	assert_memory_equal(source.data ? (const char *)source.data : "", expected, source.size);
}

static void knows_the_source_of_a_debian_package(void **state) {
	(void)state;
	assert_source("/usr/bin/gs", "ghostscript");
	assert_source("/usr/lib/x86_64-linux-gnu/libgs.so.10", "ghostscript");
	assert_source("/usr/lib/x86_64-linux-gnu/libz.so.1", "libz"); // without "/usr" in the list
	assert_source("/lib/x86_64-linux-gnu/libgs.so.10", "ghostscript");
	assert_source("/usr/lib/libzebras.so.1", "zebra"); // in a package of nearly that name,
	assert_source("/usr/lib/libother.so.1", "zebra");  // and of another
	assert_source("/usr/bin/all", "");                 // of no machine
}

static void knows_the_origin_of_an_alpine_package(void **state) {
	(void)state;
	assert_source("/usr/bin/redis-server", "redis");
	assert_source("/lib/libssl.so.3", "openssl");
	assert_source("/usr/lib/libssl.so.3x", "openssl");
}

static void has_no_answer_for_other_files(void **state) {
	(void)state;
	assert_source("/usr/bin/gsx", "");
	assert_source("/usr/share/x", "");
	assert_source("/home/u/bin/gs", "");
	assert_source("", "");
	assert_source("[vdso]", "");
}

static void needs_no_database(void **state) {
	(void)state;
	struct packages *none = packages_create(open("/proc/self", O_PATH | O_CLOEXEC));
	assert_non_null(none);
	assert_int_equal(packages_source_of(none, "/usr/bin/gs").size, 0);
	packages_destroy(none);
	packages_destroy(NULL);
}

int main(void) {
	const struct CMUnitTest tests[] = {
			cmocka_unit_test(knows_the_source_of_a_debian_package),
			cmocka_unit_test(knows_the_origin_of_an_alpine_package),
			cmocka_unit_test(has_no_answer_for_other_files),
			cmocka_unit_test(needs_no_database),
	};
	return cmocka_run_group_tests(tests, set_up, tear_down);
}
