// SPDX-License-Identifier: MIT
// Preloaded into every measured process: at its end appends a line to the file that BENCH_USAGE
// names: the CPU time it took in microseconds, its peak of resident memory in KiB (shared memory
// included), and its name.
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

static long micros(struct timeval t) {
	return t.tv_sec * 1000000L + t.tv_usec;
}

/** VmHWM: unlike ru_maxrss it begins anew with the program. */
static long peak_kib(void) {
	char text[4096];
	int fd = open("/proc/self/status", O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof text - 1);
	if (fd >= 0) {
		(void)close(fd);
	}
	text[n < 0 ? 0 : n] = '\0';
	const char *at = strstr(text, "VmHWM:");
	return at == NULL ? 0 : strtol(at + 6, NULL, 10);
}

__attribute__((destructor)) static void write_usage(void) {
	const char *file = getenv("BENCH_USAGE");
	struct rusage u;
	if (file == NULL || getrusage(RUSAGE_SELF, &u) != 0) {
		return;
	}
	char line[160];
	int n = snprintf(line, sizeof line, "%ld %ld %s\n", micros(u.ru_utime) + micros(u.ru_stime),
			peak_kib(), program_invocation_short_name);
	int fd = open(file, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
	if (fd >= 0) {
		(void)!write(fd, line, (size_t)n);
		(void)close(fd);
	}
}
