// SPDX-License-Identifier: MIT
#pragma once
/**
 * Which files and modules have an allocator of their own, by the names of their functions.
 *
 * Also there in a build without attaching, which tells of such allocators although it cannot hook
 * them. Any thread.
 */

#include "injector/space.h"

/**
 * Does a program define functions that allocate and, if it `must_free`, that free, be it for itself
 * alone? A static program need not free.
 */
bool find_defines_allocator(const struct elf_image *image, bool must_free);

/** Is a file of that name glibc? */
bool find_is_libc(const char *path);

/** Does it contain Boehm's garbage collector, as a library or linked into a program? */
bool find_is_collector(const struct module_code *m);

/** Does it contain Go's runtime, which takes its memory from the system? */
bool find_is_go(const struct module_code *m);

/**
 * The functions of an allocator that `m` keeps to itself: local ones, and exported ones of which
 * `is_hidden` says that no other module's are called in their place. `names` receives their names
 * with ", " between them, as far as they fit. Returns how many those are; 0: it does not both
 * allocate and free.
 */
uint32_t find_own_allocator(const struct module_code *m,
		bool (*is_hidden)(const void *user, const char *name), const void *user, char *names,
		size_t size);
