// SPDX-License-Identifier: MIT
#pragma once
/** Allocations freed together, aligned to 16. Zeroed: empty. For one thread at a time. */

#include "base/slice.h"

struct arena {
	struct arena_chunk *chunks;
	struct arena_chunk *spares; // from before arena_reset, for reuse
	size_t bytes;               // in all chunks
	size_t max_bytes;           // 0: no limit; allocations beyond it fail
	unsigned growth; // large chunks are this many times larger than requested; 0: as requested
	bool may_lack;   // sizes come from a file: lack of memory returns NULL, even after memory_must
};

/** Zeroed memory for `n` items of `size`, or NULL: no memory, over the limit, or overflow. */
void *arena_alloc(struct arena *a, size_t n, size_t size) ATTR_NODISCARD;

/** The same without zeroing. */
void *arena_alloc_unset(struct arena *a, size_t n, size_t size) ATTR_NODISCARD;

/** A copy of `n` (maybe 0) items of `size`, or NULL. */
void *arena_copy(struct arena *a, const void *things, size_t n, size_t size) ATTR_NODISCARD;

/** A NUL-terminated copy, or NULL. */
char *arena_text(struct arena *a, struct slice s) ATTR_NODISCARD;

/** A text made by printf, or NULL. */
char *arena_printf(struct arena *a, const char *fmt, ...) ATTR_PRINTF(2, 3) ATTR_NODISCARD;

/** Free everything; the arena is empty and usable again. */
void arena_finish(struct arena *a);

/**
 * Empty the arena, but keep its memory, for data that are built repeatedly: getting memory from the
 * system costs more than filling it. Chunks unused since the last reset are freed. `growth` leaves
 * room for data that grow each time; it costs address space, not memory.
 */
void arena_reset(struct arena *a);

#define arena_new(arena, type, n)       ((type *)arena_alloc(arena, (n), sizeof(type)))
#define arena_new_unset(arena, type, n) ((type *)arena_alloc_unset(arena, (n), sizeof(type)))

// ---- memory for large tables, in pages of 2 MiB if available
//
// Getting 4 KiB pages one by one costs as much as filling a table once. Without large pages, this
// is ordinary memory.

enum { LARGE_PAGE = 2 << 20 };

/** Round up to a multiple of `to`, a power of two. */
static inline uint64_t round_up(uint64_t n, uint64_t to) {
	return (n + to - 1) & -to;
}

/** Prefer large pages where they fit in this memory. */
void large_pages_prefer(void *memory, size_t bytes);
