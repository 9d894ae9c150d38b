// SPDX-License-Identifier: MIT
/* Reads the time stamp counter, and asks the kernel whether it can be trusted. */
#include "sys/clock.h"
#include "sys/file.h"

#include <sys/prctl.h>

uint64_t clock_stamp(void) {
	__builtin_ia32_lfence();
	uint64_t stamp = __builtin_ia32_rdtsc();
	__builtin_ia32_lfence(); // later reads must come later
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
	char name[16];
	return file_read_small("/sys/devices/system/clocksource/clocksource0/current_clocksource", name,
				   sizeof name) > 0 &&
			strcmp(name, "tsc\n") == 0;
}
