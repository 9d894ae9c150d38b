// SPDX-License-Identifier: MIT
#pragma once
/**
 * Allocations with a common lifetime, freed together. A zeroed struct is a valid, empty arena. Not
 * for use by several threads at once. Blocks are aligned to 16.
 */

#include "base/slice.h"

struct arena {
	struct arena_chunk *chunks;
	struct arena_chunk *spares; // from before arena_reset, to be reused
	size_t bytes;               // in all chunks
	size_t max_bytes;           // 0: no limit; beyond it allocations fail
	unsigned growth; // large chunks are this many times larger than requested; 0: as requested
	bool may_lack;   // sizes are a file's claims: a lack of memory gives NULL, memory_must or not
};

/**
 * Zeroed memory for `n` things of `size`, or NULL: no memory, over the limit, product too large.
 */
void *arena_alloc(struct arena *a, size_t n, size_t size) ATTR_NODISCARD;

/** The same without zeroing, for callers that write all of it. */
void *arena_alloc_unset(struct arena *a, size_t n, size_t size) ATTR_NODISCARD;

/** A copy of `n` things of `size`, which may be none, or NULL. */
void *arena_copy(struct arena *a, const void *things, size_t n, size_t size) ATTR_NODISCARD;

/** A zero-terminated copy, or NULL. */
char *arena_text(struct arena *a, struct slice s) ATTR_NODISCARD;

/** A text made by printf, or NULL. */
char *arena_printf(struct arena *a, const char *fmt, ...) ATTR_PRINTF(2, 3) ATTR_NODISCARD;

/** Free everything; the arena is empty and usable again. */
void arena_finish(struct arena *a);

/**
 * Empty the arena, but keep its memory for the next allocations: for data that are built
 * repeatedly. Getting memory from the system again would cost more than filling it. Chunks that
 * were not used since the last reset are freed. If the data grow each time, `growth` leaves room
 * for that: it costs address space, not memory.
 */
void arena_reset(struct arena *a);

#define arena_new(arena, type, n)       ((type *)arena_alloc(arena, (n), sizeof(type)))
#define arena_new_unset(arena, type, n) ((type *)arena_alloc_unset(arena, (n), sizeof(type)))

// ---- memory for large tables, in pages of 2 MiB if the system has them
//
// Getting 4 KiB pages one by one costs as much as filling a table that is filled once. Without
// large pages, this is ordinary memory.

enum { LARGE_PAGE = 2 << 20 };

/** Up to a multiple of `to`, a power of two. */
static inline uint64_t round_up(uint64_t n, uint64_t to) {
	return (n + to - 1) & -to;
}

/** Prefer large pages for the parts of memory that they fit in. */
void large_pages_prefer(void *memory, size_t bytes);
