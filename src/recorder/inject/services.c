// SPDX-License-Identifier: MIT

/* What the core needs of the process into which the recorder was put. */

#include "host.h"
#include "recorder/core/switch.h"
#include "recorder/core/sys.h"

#include <time.h>

static enum segment_role open_segment(void) {
	return segment_adopt(inject_resident->fd);
}

static uint64_t clock_ns(void) {
	struct timespec t = {0};
	if (inject_resident->clock != 0 && !atomic_load(&segment.has_no_clock)) {
		(void)inject_call(inject_resident->clock, CLOCK_MONOTONIC, (uint64_t)&t);
	} else {
		(void)syscall_2(__NR_clock_gettime, CLOCK_MONOTONIC, (long)&t);
	}
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static uint64_t stack_end(void) {
	return inject_resident->stack_end;
}

const struct host_services host_services = {
		.open_segment = open_segment,
		.clock_ns = clock_ns,
		.stack_end = stack_end,
};
