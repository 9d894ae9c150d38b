// SPDX-License-Identifier: MIT
/* Asks the kernel for the time, and whether the processor's counter can be trusted. */
#include "sys/clock.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static uint64_t read_clock(clockid_t id) {
	struct timespec t = {0};
	(void)clock_gettime(id, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

// Of the kernel, as the recorder asks it: others may stand in for libc's clocks (faketime)
uint64_t clock_now_ns(void) {
	struct timespec t = {0};
	(void)syscall(SYS_clock_gettime, CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

uint64_t clock_stamp(void) {
	__builtin_ia32_lfence();
	uint64_t stamp = __builtin_ia32_rdtsc();
	__builtin_ia32_lfence(); // what is looked at next is looked at later
	return stamp;
}

bool clock_has_stamps(void) {
	const char *wish = getenv("HEAPTRACK_STAMPS");
	if (wish && strcmp(wish, "counted") == 0) {
		return false;
	}
	int may_read = 0;
	if (prctl(PR_GET_TSC, &may_read, 0, 0, 0) != 0 || may_read != PR_TSC_ENABLE) {
		return false;
	}
	char name[16] = "";
	FILE *file = fopen("/sys/devices/system/clocksource/clocksource0/current_clocksource", "re");
	if (!file) {
		return false;
	}
	bool is_known = fgets(name, sizeof name, file) != NULL;
	(void)fclose(file);
	return is_known && strcmp(name, "tsc\n") == 0;
}

uint64_t clock_wall_ns(void) {
	return read_clock(CLOCK_REALTIME);
}

int64_t clock_wall_offset_s(uint64_t wall_ns) {
	time_t seconds = (time_t)(wall_ns / 1000000000u);
	struct tm tm;
	return localtime_r(&seconds, &tm) ? tm.tm_gmtoff : 0;
}

uint64_t clock_thread_cpu_ns(void) {
	return read_clock(CLOCK_THREAD_CPUTIME_ID);
}

void clock_sleep_ns(uint64_t ns) {
	const uint64_t second = 1000000000;
	(void)nanosleep(&(struct timespec){.tv_sec = (time_t)(ns / second),
							.tv_nsec = (long)(ns % second)},
			NULL);
}
