// SPDX-License-Identifier: MIT
#pragma once

#include "base/attr.h"
#include "base/slice.h"

/**
 * Memory with one lifetime: many allocations, one end. A zeroed struct is a valid, empty arena.
 * Not for use by several threads at once. Blocks are aligned to 16.
 */
struct arena {
	struct arena_chunk *chunks;
	struct arena_chunk *spares; // of before arena_reset, to be used again
	size_t bytes;               // in all chunks: what the arena costs
	size_t max_bytes;           // 0: no limit; beyond it allocations fail
	unsigned growth;            // large chunks are so many times larger than asked for, or 0
};

/** Zeroed memory for `n` things of `size`, or NULL: no memory, over the limit, product too large. */
void *arena_alloc(struct arena *a, size_t n, size_t size) ATTR_NODISCARD;

/** The same, holding anything: for who writes all of it. */
void *arena_alloc_unset(struct arena *a, size_t n, size_t size) ATTR_NODISCARD;

/** A copy with a zero byte behind it (not counted), or NULL. */
char *arena_text(struct arena *a, struct slice s) ATTR_NODISCARD;

/** Free everything; the arena is empty and usable again. */
void arena_finish(struct arena *a);

/**
 * The arena is empty, but keeps its memory for what will be allocated next: for things that are built
 * again and again. Memory that the system has to hand out anew costs more than filling it. What was
 * not used since the last reset is freed. Where things get larger each time, `growth` leaves room
 * for that: it costs addresses, not memory.
 */
void arena_reset(struct arena *a);

#define arena_new(arena, type, n)       ((type *)arena_alloc(arena, (n), sizeof(type)))
#define arena_new_unset(arena, type, n) ((type *)arena_alloc_unset(arena, (n), sizeof(type)))
