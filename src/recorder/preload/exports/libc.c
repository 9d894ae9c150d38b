// SPDX-License-Identifier: MIT

/** The exported functions of the C library, made from hooks.def, and what the core needs of this process. */

#include "recorder/core/sys.h"
#include "recorder/preload/alone.h"
#include "recorder/preload/clock.h"
#include "recorder/preload/exports/replace.h"
#include "recorder/preload/initial_stack.h"

#define HOOK(result, name, parameters, arguments, what, without) \
	REPLACEMENT(result, name, parameters, arguments, what)
#define LIBRARY_HOOK(...)
#include "recorder/hooks.def"
#undef HOOK

// ---- what the core needs of the process

extern char **environ __attribute__((weak));

static char **first_environment(void) {
	char **environment = start_environment();
	return environment != NULL || &environ == NULL ? environment : environ;
}

static enum segment_role open_segment(void) {
	return beside_open(first_environment());
}

static uint64_t stack_end(void) {
	return &__libc_stack_end == NULL ? 0 : (uint64_t)__libc_stack_end;
}

/** Before the program runs, so that a program that first allocates after a fork is known too. */
__attribute__((constructor)) static void begin(void) {
	if (door_find_out()) {
		real_redirect();
	}
	real_find_execs();
	beside_begin();
}

const struct door_services door_services = {
		.open_segment = open_segment,
		.clock_ns = preload_clock_ns,
		.stack_end = stack_end,
};
