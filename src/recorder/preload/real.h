// SPDX-License-Identifier: MIT
#pragma once
/**
 * The real functions, which the program would have called without us. Each is looked up at its
 * first call, by what its place in the table holds until then. Any thread, any signal handler.
 */

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// ---- functions of the loaded objects by name, read from the objects' own tables dlsym would do,
// but it discards what dlerror() is about to tell the program, allocates, frees what earlier calls
// of it left, and is in a library of its own before glibc 2.34. Any thread; never in a signal
// handler, as the loader's lock is taken. `ours` is any address in this library

/**
 * What dlsym(RTLD_NEXT) finds from the object of `ours`, as the program's libraries are linked: a
 * definition in a later object that was loaded at the program's start, or NULL.
 */
void *lookup_next(const char *name, const void *ours);

/** The same in any other object, even if the program itself loaded it. NULL: none defines it. */
void *lookup_function(const char *name, const void *ours);

/** The path of the object that `ours` lies in, as the loader opened it; NULL: none. */
const char *lookup_path(const void *ours);

/** Does the object that `function` lies in also define a function called `name`? */
bool lookup_is_beside(const void *function, const char *name);

/**
 * Make symbols of the object of the first `from` refer to `to`, so that lookups by `name` that
 * would find `from` find `to` from now on. What is already bound stays.
 */
struct redirection {
	const char *name;
	const void *from, *to;
};
void lookup_redirect(const struct redirection *all, size_t n);

/**
 * Hide from lookups the functions of the object of `ours` that no other object loaded at the
 * program's start defines, except those that stay.
 */
void lookup_hide(const void *ours, bool (*stays)(const char *name));

/** A function of the object whose ELF header is at `start`, by image_read, or NULL. */
void *lookup_in_image(uint64_t start, const char *name);

// ---- the real functions behind the hooks

#define HOOK(result, name, parameters, ...) result(*name) parameters;
#define WITH_OPERATORS
struct real {
#include "recorder/hooks.def"
};
#undef WITH_OPERATORS
#undef HOOK

extern struct real real;

/** The real function, to be called at once. */
#define REAL(name) (__atomic_load_n(&real.name, __ATOMIC_RELAXED))

/**
 * The definition that the program would use without us, by the libraries it was started with, or
 * NULL. From the first call on, lookups no longer find what only we define.
 */
void *real_find_global(const char *name);

/** A library was unloaded: look up again functions that may have been in it. */
void real_forget_loaded(void);

/** Find exec*() and functions that map now: a child or handler must not take the loader's lock. */
void real_find_early(void);

/** Find the functions of the C library's allocator. False: another allocator precedes it. */
bool real_find_allocator(void);

/** n * size, or SIZE_MAX if it overflows: no allocator has that much. */
static inline size_t product(size_t n, size_t size) {
	size_t bytes;
	return __builtin_mul_overflow(n, size, &bytes) ? SIZE_MAX : bytes;
}

/** Operators are asked for at least one byte, to give each block an address of its own. */
static inline size_t some(size_t size) {
	return size + (size == 0);
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

/** The answer of a system function that does not exist here. */
static inline int missing(void) {
	errno = ENOSYS;
	return -1;
}
