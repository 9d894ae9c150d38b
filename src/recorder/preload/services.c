// SPDX-License-Identifier: MIT

/* What the core needs of the process into which the recorder was preloaded. */

#include "recorder/core/switch.h"
#include "recorder/preload/clock.h"
#include "recorder/preload/collector.h"
#include "recorder/preload/initial_stack.h"

extern char **environ __attribute__((weak));

static char **first_environment(void) {
	char **environment = start_environment();
	return environment != NULL || &environ == NULL ? environment : environ;
}

static enum segment_role open_segment(void) {
	return collector_open(first_environment());
}

static uint64_t stack_end(void) {
	return &__libc_stack_end == NULL ? 0 : (uint64_t)__libc_stack_end;
}

const struct host_services host_services = {
		.open_segment = open_segment,
		.clock_ns = preload_clock_ns,
		.stack_end = stack_end,
};
