// SPDX-License-Identifier: MIT
#pragma once

/**
 * Memory for the few calls that arrive while the real allocator is being looked up: dlsym may
 * itself allocate. A small arena in the library's own zeroed pages; its blocks are never released
 * and never recorded. Any thread, any signal handler.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { EARLY_PAGE = 4096, EARLY_BYTES = 64 * EARLY_PAGE };
extern unsigned char early_arena[EARLY_BYTES];

/** True if `ptr` is a block of the arena. No other memory shares its pages. */
static inline bool early_owns(const void *ptr) {
	return (uintptr_t)ptr - (uintptr_t)early_arena < EARLY_BYTES;
}

/** A zeroed block. NULL, errno ENOMEM: the arena is used up. */
void *early_malloc(size_t size);
void *early_memalign(size_t alignment, size_t size);
int early_memalign_at(void **at, size_t alignment, size_t size);

/** How many bytes a block was asked for. */
size_t early_size(const void *ptr);

/** A longer copy; the old block stays. `ptr` is NULL or of the arena, anything else is refused. */
void *early_realloc(void *ptr, size_t size);
