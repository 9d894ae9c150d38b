// SPDX-License-Identifier: MIT

/**
 * What programs do that cuts a recorder off from its collector: hostile HOW N [PROGRAM ARGS...]
 *
 * before_it makes N blocks of 50 bytes, then the program does it, then after_it makes N more. None
 * is freed. With PROGRAM that one is executed in the same process next. Prints "hostile".
 *
 *   close       closes every descriptor but stdout
 *   wipe        empties its environment (and executes PROGRAM with an empty one)
 *   drop        becomes nobody (user and group 65534); needs root
 *   chroot DIR  DIR is the argument after N: makes it its root; needs root
 *   fsize       may write no file of more than 1000 bytes any more (RLIMIT_FSIZE)
 *   as          may not map anything more (RLIMIT_AS as large as it is, and 1 MB)
 *   nofile      may not open anything more (RLIMIT_NOFILE 0)
 *   lock        locks all its memory, present and future
 *   nothing     (for what PROGRAM is)
 *   rename      calls itself otherwise (PR_SET_NAME) and is not dumpable
 */

#include <errno.h>
#include <grp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

static void *volatile kept;

static void make_blocks(long n) {
	for (long i = 0; i < n; i++) {
		kept = malloc(50);
	}
}

static void before_it(long n) {
	make_blocks(n);
	__asm__ volatile("");
}

static void after_it(long n) {
	make_blocks(n);
	__asm__ volatile("");
}

static int limit(unsigned what, rlim_t value) {
	struct rlimit r = {value, value};
	return setrlimit(what, &r);
}

static rlim_t mapped_bytes(void) {
	unsigned long pages = 0;
	FILE *statm = fopen("/proc/self/statm", "r");
	if (!statm || fscanf(statm, "%lu", &pages) != 1) {
		abort();
	}
	fclose(statm);
	return pages * 4096;
}

static int close_all(void) {
	close(0);
	return close_range(2, ~0u, 0);
}

static int drop(void) {
	return setgroups(0, NULL) || setresgid(65534, 65534, 65534) || setresuid(65534, 65534, 65534);
}

static int do_it(const char *how, const char *folder) {
	return strcmp(how, "close") == 0      ? close_all()
			: strcmp(how, "nothing") == 0 ? 0
			: strcmp(how, "wipe") == 0    ? clearenv()
			: strcmp(how, "drop") == 0    ? drop()
			: strcmp(how, "chroot") == 0  ? chroot(folder) || chdir("/")
			: strcmp(how, "fsize") == 0   ? limit(RLIMIT_FSIZE, 1000)
			: strcmp(how, "as") == 0      ? limit(RLIMIT_AS, mapped_bytes() + (1 << 20))
			: strcmp(how, "nofile") == 0  ? limit(RLIMIT_NOFILE, 0)
			: strcmp(how, "lock") == 0    ? mlockall(MCL_CURRENT | MCL_FUTURE)
			: strcmp(how, "rename") == 0  ? prctl(PR_SET_NAME, "other") || prctl(PR_SET_DUMPABLE, 0)
										  : -1;
}

int main(int argc, char **argv) {
	if (argc < 3) {
		return 2;
	}
	long n = atol(argv[2]);
	int next = strcmp(argv[1], "chroot") == 0 ? 4 : 3;
	before_it(n);
	if (do_it(argv[1], argv[3]) != 0) {
		return 3;
	}
	after_it(n);
	if (argc > next) {
		execv(argv[next], argv + next);
		return 4;
	}
	puts("hostile");
	return 0;
}
