// SPDX-License-Identifier: MIT
#pragma once

/**
 * The real functions behind the hooks: those that the program would have called without us. Each
 * is looked up at its first call; until then its place in the table holds a function that does so.
 * Any thread, any signal handler.
 */

#include <errno.h>
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
 * Another definition than `ours`: the one that the program would use without us, by what it was started
 * with. NULL: there is none, and from the first such question on nobody finds `ours`, either.
 */
void *real_find_global(const char *name, const void *ours);

/** A library is gone, which may be one with functions that are looked for in those that are loaded later. */
void real_forget_loaded(void);

/** Find what becomes another program: a child of fork must not look it up, for which it needs the loader's lock. */
void real_find_execs(void);

/**
 * Have those find ours who look them up in the C library itself: libraries that are opened with
 * RTLD_DEEPBIND do, before they look where the program does. Where another allocator stands in front of
 * the C library's they are left alone: without us, too, they get the C library's. Once, at the start.
 */
void real_redirect(void);

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

/** What a system's function says that is not there. */
static inline int missing(void) {
	errno = ENOSYS;
	return -1;
}
