// SPDX-License-Identifier: MIT
#pragma once

/**
 * The stack as the kernel made it for a new program.
 *
 * It holds argc, argv, NULL, the environment, NULL, and the auxiliary vector.
 */

#include <stddef.h>
#include <stdint.h>

extern void *__libc_stack_end __attribute__((weak)); // a variable of glibc's loader

/** The environment as it was then, with what is behind it. NULL: not to be found (musl). */
static inline char **start_environment(void) {
	enum { ARGUMENTS_MAX = 1 << 24 };
	if (&__libc_stack_end == NULL) {
		return NULL;
	}
	uintptr_t *stack = __libc_stack_end;
	uintptr_t n = stack[0];
	return n < ARGUMENTS_MAX && stack[1 + n] == 0 ? (char **)(stack + 2 + n) : NULL;
}
