// SPDX-License-Identifier: MIT
/* Which C library a process has, by the files that it maps; and our own capabilities. */
#include "base/buffer.h"
#include "base/path.h"
#include "cli/record/check.h"
#include "sys/file.h"
#include "sys/process.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>

enum { LIBC_BYTES_MAX = 64 << 20, OLDEST_MINOR = 28 }; // glibc 2.28

// ---- the C library

/** The file of the C library that is mapped in the process. False: `out` is "": there is none. */
static bool find_libc(pid_t pid, char out[PATH_MAX], bool *is_readable) {
	char path[64], line[PATH_MAX + 128];
	(void)snprintf(path, sizeof path, "/proc/%d/maps", (int)pid);
	FILE *maps = fopen(path, "re");
	*is_readable = false;
	*out = 0;
	while (maps && !*out && fgets(line, sizeof line, maps)) {
		*is_readable = true;
		const char *name = strchr(line, '/');
		const char *base = name ? path_base_name(name) : "";
		if (strncmp(base, "libc.so", 7) == 0 || strncmp(base, "libc-2.", 7) == 0 ||
				strncmp(base, "libc.musl", 9) == 0 || strncmp(base, "ld-musl", 7) == 0) {
			(void)snprintf(out, PATH_MAX, "%.*s", (int)strcspn(name, "\n"), name);
		}
	}
	if (maps) {
		(void)fclose(maps);
	}
	return *out != 0;
}

/** glibc's own words for its version; else "". */
static void version_in(struct slice file, char out[16]) {
	static const char words[] = " release version ";
	const char *at = memmem(file.data, file.size, words, strlen(words));
	size_t left = at ? file.size - (size_t)(at - (const char *)file.data) - strlen(words) : 0;
	(void)snprintf(out, 16, "%.*s", (int)(left < 15 ? left : 15), at ? at + strlen(words) : "");
	out[strspn(out, "0123456789.")] = 0;
	size_t n = strlen(out);
	out[n - (n > 0 && out[n - 1] == '.')] = 0;
}

static enum check_libc judge_shared(struct slice file, char *text, size_t size) {
	char version[16];
	version_in(file, version);
	if (!*version) {
		bool is_musl = memmem(file.data, file.size, "musl libc", strlen("musl libc")) != NULL;
		(void)snprintf(text, size, "%s: the recorder is injected, not preloaded",
				is_musl ? "musl" : "another one");
		return is_musl ? CHECK_MUSL : CHECK_OTHER_LIBC;
	}
	bool is_old = strncmp(version, "2.", 2) == 0 && atoi(version + 2) < OLDEST_MINOR;
	(void)snprintf(text, size, "glibc %s%s", version,
			is_old ? ": too old, preloading the recorder needs 2.28"
				   : " (2.28 or later is needed)");
	return CHECK_GLIBC;
}

static enum check_libc judge_static(struct slice file, char *text, size_t size) {
	static const char tunables[] = "GLIBC_TUNABLES"; // glibc reads it at the start
	bool is_glibc = memmem(file.data, file.size, tunables, strlen(tunables)) != NULL;
	(void)snprintf(text, size, "static%s: the recorder is injected, not preloaded",
			is_glibc ? " (glibc)" : " (not glibc's)");
	return is_glibc ? CHECK_GLIBC : CHECK_OTHER_LIBC;
}

enum check_libc check_libc(pid_t pid, char *text, size_t size) {
	char name[PATH_MAX], path[PATH_MAX + 64];
	bool is_readable;
	bool is_shared = find_libc(pid, name, &is_readable);
	struct buffer file = {0};
	struct err err = {0};
	enum check_libc kind = CHECK_UNKNOWN_LIBC;
	(void)snprintf(path, sizeof path, is_shared ? "/proc/%d/root%s" : "/proc/%d/exe", (int)pid,
			name);
	if (!is_readable || !file_read_whole(path, &file, LIBC_BYTES_MAX, &err)) {
		(void)snprintf(text, size, "unknown: its files cannot be read");
	} else if (is_shared) {
		kind = judge_shared(buffer_view(&file), text, size);
	} else {
		kind = judge_static(buffer_view(&file), text, size);
	}
	buffer_finish(&file);
	return kind;
}

// ---- capabilities

void check_capabilities(char *text, size_t size) {
	char map[128];
	bool may_trace = process_may_trace_all();
	unsigned long long first = 0, outer = 0, n = 0;
	bool has_map = file_read_small("/proc/self/uid_map", map, sizeof map) > 0 &&
			sscanf(map, "%llu %llu %llu", &first, &outer, &n) == 3;
	bool is_confined = has_map && (first != 0 || outer != 0 || n != UINT_MAX);
	(void)snprintf(text, size, "CAP_SYS_PTRACE: %s%s",
			may_trace ? "yes" : "no, so only processes of this user can be attached to",
			may_trace && is_confined ? ", but only within its user namespace" : "");
}
