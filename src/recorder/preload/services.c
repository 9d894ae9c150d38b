// SPDX-License-Identifier: MIT
/* What the core needs of the process that the recorder is preloaded into. */
#include "recorder/core/errand.h"
#include "recorder/core/switch.h"
#include "recorder/preload/collector.h"
#include "recorder/preload/real.h"

#include <elf.h>

/** The environment at the start, from the stack: argc, argv, NULL, environment. NULL: musl. */
static char **start_environment(void) {
	enum { ARGUMENTS_MAX = 1 << 24 };
	if (&__libc_stack_end == NULL) {
		return NULL;
	}
	uintptr_t *stack = __libc_stack_end;
	uintptr_t n = stack[0];
	return n < ARGUMENTS_MAX && stack[1 + n] == 0 ? (char **)(stack + 2 + n) : NULL;
}

typedef int clock_function(clockid_t, struct timespec *);

static int ask_kernel(clockid_t clock, struct timespec *now) {
	return (int)syscall_2(__NR_clock_gettime, clock, (long)now);
}

static _Atomic(clock_function *) known_clock;

/** Threads that come at the same time find the same. */
static clock_function *find_clock(void) {
	clock_function *clock = (clock_function *)lookup_in_image(image_auxiliary(AT_SYSINFO_EHDR),
									"__vdso_clock_gettime")
			?: ask_kernel;
	atomic_store_explicit(&known_clock, clock, memory_order_relaxed);
	return clock;
}

/**
 * From the vdso: libc's function may give other times (libfaketime) or not work yet (sanitizers).
 */
uint64_t host_clock_ns(void) {
	clock_function *clock = atomic_load_explicit(&known_clock, memory_order_relaxed);
	clock = unlikely(clock == NULL) ? find_clock() : clock;
	if (unlikely(atomic_load_explicit(&segment.has_no_clock, memory_order_relaxed))) {
		clock = ask_kernel;
	}
	struct timespec now;
	(void)clock(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

enum segment_role host_open_segment(void) {
	char **environment = start_environment();
	bool has_one = environment != NULL || &environ == NULL;
	enum segment_role role = collector_open(has_one ? environment : environ);
	if (role == SEGMENT_ROLE_PROGRAM) {
		static _Alignas(4096) unsigned char room[RESIDENT_STACK_BYTES + ERRAND_BYTES];
		errand_offer(room + RESIDENT_STACK_BYTES);
		(void)find_clock(); // while files may still be read; later it may be forbidden
	}
	return role;
}

uint64_t host_main_stack_end(void) {
	return &__libc_stack_end == NULL ? 0 : (uint64_t)__libc_stack_end;
}
