// SPDX-License-Identifier: MIT
#include "collector/run/parts.h"
#include "sys/file.h"
#include "sys/process.h"

#include <stdio.h>
#include <string.h>

enum { ARGUMENTS_MAX = 64 << 10 };

/** A program that set its title wrote over its arguments: "redis-server *:6379", and nothing behind. */
static long end_of_title(char *text, long n) {
	long end = (long)strlen(text), i = end;
	while (i < n && text[i] == '\0') {
		i++;
	}
	if (i < n || !memchr(text, ' ', (size_t)end)) {
		return n;
	}
	while (end > 0 && text[end - 1] == ' ') {
		text[--end] = '\0';
	}
	return end + 1;
}

char **run_arguments_of(pid_t pid, struct arena *arena) {
	char path[64];
	char *text = arena_new(arena, char, ARGUMENTS_MAX);
	(void)snprintf(path, sizeof path, "/proc/%d/cmdline", (int)pid);
	if (!text) {
		return NULL;
	}
	long n = file_read_small(path, text, ARGUMENTS_MAX);
	if (n <= 0 || !text[0]) { // it wrote over them
		(void)process_thread_name(pid, pid, text, ARGUMENTS_MAX);
		n = (long)strlen(text) + 1;
	}
	n = end_of_title(text, n);
	size_t count = 0;
	for (long i = 0; i < n; i++) {
		count += text[i] == '\0';
	}
	char **argv = arena_new(arena, char *, count + 2);
	size_t k = 0;
	for (long i = 0; argv && i < n && k <= count; i += (long)strlen(text + i) + 1) {
		argv[k++] = text + i;
	}
	return argv;
}
