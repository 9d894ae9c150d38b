// SPDX-License-Identifier: MIT

/** The exported functions, made from hooks.def, and what the core needs of this process. */

#include "recorder/preload/replace.h"

#include "recorder/core/sys.h"
#include "recorder/preload/beside.h"

#include <time.h>

#define EXPORT __attribute__((visibility("default"), used))

// ---- the replacements

// "what" is a word and its operands in brackets: REPLACE_ is put before the word, the call first
// among the operands
#define OPERANDS_ALLOCATES(size)     ALLOCATES, size
#define OPERANDS_ALLOCATES_AT(at, n) ALLOCATES_AT, at, n
#define OPERANDS_REALLOCATES(ptr, n) REALLOCATES, ptr, n
#define OPERANDS_FREES(ptr)          FREES, ptr
#define OPERANDS_REGISTERS(begin)    REGISTERS, begin
#define OPERANDS_DEREGISTERS(begin)  DEREGISTERS, begin
#define OPERANDS_LIMITS(what, limit) LIMITS, what, limit
#define OPERANDS_LOCKS               LOCKS, none
#define BODY(call, ...)              BODY_OF(call, __VA_ARGS__)
#define BODY_OF(call, word, ...)     REPLACE_##word(call, __VA_ARGS__)

#define HOOK(result, name, parameters, arguments, what, without) \
	EXPORT result name parameters;                               \
	EXPORT result name parameters {                              \
		BODY(REAL(name) arguments, OPERANDS_##what)              \
	}
#include "recorder/hooks.def"
#undef HOOK

void *replace_early(const void *ptr, size_t size) {
	void *block = malloc(size);
	if (block != NULL) {
		sys_copy(block, ptr, early_size(ptr) < size ? early_size(ptr) : size);
	}
	return block;
}

// ---- what the core needs of the process

extern void *__libc_stack_end __attribute__((weak));
extern char **environ __attribute__((weak));

/** The stack as the kernel made it: argc, argv, NULL, then the environment. */
static char **first_environment(void) {
	enum { ARGUMENTS_MAX = 1 << 24 };
	if (&__libc_stack_end == NULL) {
		return &environ == NULL ? NULL : environ;
	}
	uintptr_t *stack = __libc_stack_end;
	uintptr_t n = stack[0];
	return n < ARGUMENTS_MAX && stack[1 + n] == 0 ? (char **)(stack + 2 + n) : environ;
}

static enum segment_role open_segment(void) {
	return beside_open(first_environment());
}

static uint64_t clock_ns(void) {
	struct timespec t;
	(void)clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static uint64_t stack_end(void) {
	return &__libc_stack_end == NULL ? 0 : (uint64_t)__libc_stack_end;
}

/** Before the program runs, so that a program that first allocates after a fork is known too. */
__attribute__((constructor)) static void begin(void) {
	(void)door_find_out();
	beside_begin();
}

const struct door_services door_services = {
		.open_segment = open_segment,
		.clock_ns = clock_ns,
		.stack_end = stack_end,
};
