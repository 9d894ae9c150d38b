// SPDX-License-Identifier: MIT
// Preloaded into the measured process: at its end appends the CPU time it took, in microseconds,
// to the file named by BENCH_USAGE. For that process alone: a child, or a shell around it, has
// another BENCH_COMMAND.
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

extern char *program_invocation_short_name;

static long micros(struct timeval t) {
	return t.tv_sec * 1000000L + t.tv_usec;
}

__attribute__((destructor)) static void write_usage(void) {
	const char *file = getenv("BENCH_USAGE"), *command = getenv("BENCH_COMMAND");
	if (!file || !command || strcmp(command, program_invocation_short_name) != 0) {
		return;
	}
	struct rusage u;
	if (getrusage(RUSAGE_SELF, &u) != 0) {
		return;
	}
	char line[64];
	int n = snprintf(line, sizeof line, "%ld\n", micros(u.ru_utime) + micros(u.ru_stime));
	int fd = open(file, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
	if (fd >= 0) {
		(void)!write(fd, line, (size_t)n);
		(void)close(fd);
	}
}
