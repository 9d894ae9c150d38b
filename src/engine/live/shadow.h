// SPDX-License-Identifier: MIT
#pragma once
/**
 * Finds the live block at an address. Programs use their address space with locality, which a hash
 * destroys and a shadow keeps: 4 bytes for each 16 bytes of address space, two levels.
 *
 *   ptr   | 25 bits: directory        | 18 bits: slot of the leaf | 4 zero bits
 *               v                           v
 *         [ leaf* | NULL | leaf* ]    [ block | 0 | 0 | block ... ]   4 MB of addresses in 1 MB
 *
 * Pages of directory and leaves are allocated by the system when touched. An empty leaf is dropped
 * when another one becomes empty, not at once: a program's only block may come and go. Empty leaves
 * are all zero, so a few are kept for reuse.
 *
 * A block whose realloc is pending has no address, but may get it back: its place is `held`, so
 * that putting it back needs no memory.
 */

#include "base/base.h"
#include "base/map.h"
#include "engine/live/blocks.h"

enum {
	SHADOW_LEAF_SHIFT = 22,
	SHADOW_LEAF_SLOTS = 1 << (SHADOW_LEAF_SHIFT - 4),
	SHADOW_DIRECTORY = 1 << (47 - SHADOW_LEAF_SHIFT),
	SHADOW_SPARES = 8,
};

struct shadow_leaf {
	uint32_t slots[SHADOW_LEAF_SLOTS];
	uint32_t n;      // slots in use or held
	uint32_t region; // its place in the directory
	uint32_t number; // its place in `leaves`
};

struct shadow {
	struct shadow_leaf **directory;
	VEC(struct shadow_leaf *) leaves;
	uint8_t *ever; // of each region: it had a leaf
	struct shadow_leaf *spares[SHADOW_SPARES];
	uint32_t n_spares;
	struct shadow_leaf *emptied; // the last one that was; it may have blocks again. Or NULL
	struct map odd; // blocks at addresses that have no slot: no multiple of 16, or above 47 bits
	uint32_t n_odd_held; // places there
};

/** False: out of memory. */
bool shadow_init(struct shadow *s);
void shadow_finish(struct shadow *s);

/** No block has an address any more, and nothing is held. */
void shadow_clear(struct shadow *s);

/** At most this much memory is in use. */
uint64_t shadow_bytes(const struct shadow *s);

// The rare half of what follows
bool shadow_add_leaf(struct shadow *s, uint64_t ptr);
void shadow_leaf_emptied(struct shadow *s, struct shadow_leaf *leaf);

static inline bool shadow_is_odd(uint64_t ptr) {
	const uint64_t even = (((uint64_t)1 << 47) - 1) & ~(uint64_t)15;
	return (ptr & ~even) != 0;
}

static inline struct shadow_leaf *shadow_leaf_of(const struct shadow *s, uint64_t ptr) {
	return s->directory[ptr >> SHADOW_LEAF_SHIFT];
}

static inline uint32_t *shadow_slot_of(struct shadow_leaf *leaf, uint64_t ptr) {
	return &leaf->slots[ptr >> 4 & (SHADOW_LEAF_SLOTS - 1)];
}

/** Make room for a block at `ptr`. False: out of memory. */
static inline bool shadow_reserve(struct shadow *s, uint64_t ptr) {
	if (UNLIKELY(shadow_is_odd(ptr))) {
		return map_reserve(&s->odd, s->n_odd_held + 1ul);
	}
	return LIKELY(shadow_leaf_of(s, ptr)) || shadow_add_leaf(s, ptr);
}

/** The block at `ptr` from now on; gives the one it replaces. Needs room, reserved or held. */
static inline uint32_t shadow_put(struct shadow *s, uint64_t ptr, uint32_t block) {
	if (UNLIKELY(shadow_is_odd(ptr))) {
		return (uint32_t)map_set(&s->odd, ptr, block);
	}
	struct shadow_leaf *leaf = shadow_leaf_of(s, ptr);
	uint32_t *slot = shadow_slot_of(leaf, ptr);
	uint32_t replaced = *slot;
	*slot = block;
	leaf->n += replaced == BLOCK_NONE;
	return replaced;
}

/** The block at `ptr`, which is there no more; BLOCK_NONE if there was none. */
static inline uint32_t shadow_take(struct shadow *s, uint64_t ptr) {
	if (UNLIKELY(shadow_is_odd(ptr))) {
		return (uint32_t)map_take(&s->odd, ptr);
	}
	struct shadow_leaf *leaf = shadow_leaf_of(s, ptr);
	if (UNLIKELY(!leaf)) {
		return BLOCK_NONE;
	}
	uint32_t *slot = shadow_slot_of(leaf, ptr);
	uint32_t block = *slot;
	if (LIKELY(block != BLOCK_NONE)) {
		*slot = BLOCK_NONE;
		if (UNLIKELY(--leaf->n == 0)) {
			shadow_leaf_emptied(s, leaf);
		}
	}
	return block;
}

/** The block at `ptr`, or BLOCK_NONE. */
uint32_t shadow_at(const struct shadow *s, uint64_t ptr);

/** Like shadow_take, but the place of a block found is held. */
uint32_t shadow_hold(struct shadow *s, uint64_t ptr);

/** The place held by shadow_hold is no longer wanted (or was put to use again). */
void shadow_release(struct shadow *s, uint64_t ptr);
