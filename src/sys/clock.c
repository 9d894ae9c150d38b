// SPDX-License-Identifier: MIT
/* Asks the kernel for the time. */
#include "sys/clock.h"

#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

// From the kernel, as in the recorder: libc's clocks may be replaced (faketime)
static uint64_t read_clock(clockid_t id) {
	struct timespec t = {0};
	(void)syscall(SYS_clock_gettime, id, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

uint64_t clock_now_ns(void) {
	return read_clock(CLOCK_MONOTONIC);
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
