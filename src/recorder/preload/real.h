// SPDX-License-Identifier: MIT
#pragma once
/**
 * The real functions behind the hooks: those that the program would have called without us.
 *
 * Each is looked up at its first call; until then its place in the table holds a function that does
 * so. Any thread, any signal handler.
 */

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define HOOK(result, name, parameters, ...) result(*name) parameters;
struct real {
#include "recorder/hooks.def"
};
#undef HOOK

extern struct real real;

/** The real function, to be called at once. */
#define REAL(name) (__atomic_load_n(&real.name, __ATOMIC_RELAXED))

/**
 * The definition that the program would use without us, by the libraries it was started with. NULL:
 * there is none. From the first call on, lookups no longer find what only we define.
 */
void *real_find_global(const char *name);

/** A library was unloaded: functions that may have been in it are looked up again. */
void real_forget_loaded(void);

/**
 * Find exec*() and functions that map now: a child of fork, or a handler, must not look them up,
 * which takes the loader's lock.
 */
void real_find_early(void);

/** Find the functions of the C library's allocator. False: another allocator is in front of it. */
bool real_find_allocator(void);

/** True if `function` lies in the C library. */
bool real_is_libcs(const void *function);

/** n * size, or SIZE_MAX where that does not fit: no allocator has so much. */
static inline size_t product(size_t n, size_t size) {
	size_t bytes;
	return __builtin_mul_overflow(n, size, &bytes) ? SIZE_MAX : bytes;
}

static inline void nothing(void) {}

static inline void *no_memory(void) {
	errno = ENOMEM;
	return NULL;
}

static inline void *no_mapping(void) {
	errno = ENOSYS;
	return (void *)-1;
}

/** The answer of a function of the system that does not exist there. */
static inline int missing(void) {
	errno = ENOSYS;
	return -1;
}
