// SPDX-License-Identifier: MIT
#pragma once
/**
 * The live blocks, a pool of records found by number. Numbers start at 1 and are reused as soon as
 * their block has ended, the newest first, because it is still cached. The next numbers are known
 * in advance, so that records of blocks that ended long ago are prefetched in time.
 */

#include "base/base.h"

enum { BLOCK_NONE = 0, BLOCK_UNUSED = UINT32_MAX, BLOCKS_AHEAD = 8 };

struct block {
	uint64_t size;
	uint64_t birth;  // a moment
	uint64_t number; // which of its thread's allocations it was
	uint32_t stack;  // BLOCK_UNUSED: not a block
	uint32_t thread;
};

struct block_pool {
	struct block *items;
	size_t capacity;
	uint32_t n;       // records ever used, including number 0
	uint32_t *unused; // BLOCKS_AHEAD times BLOCK_NONE, then numbers, the newest last; room for all
	size_t unused_capacity;
	uint32_t n_unused; // numbers
};

void block_pool_reserve(struct block_pool *b, uint32_t more);

/** A number for a new block. Requires block_pool_reserve. */
static inline uint32_t block_pool_take(struct block_pool *b) {
	if (b->n_unused == 0) {
		return b->n++;
	}
	const uint32_t *ahead = &b->unused[--b->n_unused];
	__builtin_prefetch(&b->items[*ahead], 1);
	return ahead[BLOCKS_AHEAD];
}

/** End a block; block_pool_take may reuse its number, or, if `is_chosen`, block_pool_claim. */
static inline void block_pool_give(struct block_pool *b, uint32_t number, bool is_chosen) {
	b->items[number].stack = BLOCK_UNUSED;
	if (!is_chosen) {
		b->unused[BLOCKS_AHEAD + b->n_unused++] = number;
	}
}

static inline bool block_pool_has(const struct block_pool *b, uint64_t number) {
	return number < b->n && b->items[number].stack != BLOCK_UNUSED;
}

/**
 * Use the number that the caller chose for a new block: a used one, or the next one, which stands
 * in for any other. Do not mix with block_pool_take.
 */
static inline uint32_t block_pool_claim(struct block_pool *b, uint64_t number) {
	if (number - 1 < b->n - 1) { // neither BLOCK_NONE nor new
		return (uint32_t)number;
	}
	b->items[b->n].stack = BLOCK_UNUSED;
	return b->n++;
}

void block_pool_finish(struct block_pool *b);

// ---- the live block at an address
//
// Programs use their address space with locality, which a hash destroys and a shadow keeps: 4 bytes
// for each 16 bytes of address space, in two levels.
//
//   ptr   | 25 bits: directory        | 18 bits: slot of the leaf | 4 zero bits
//               v                           v
//         [ leaf* | NULL | leaf* ]    [ block | 0 | 0 | block ... ]   4 MB of addresses in 1 MB
//
// The system allocates pages of directory and leaves when they are touched. An empty leaf is
// dropped when another one becomes empty, not at once: a program's only block may come and go.
// Empty leaves are all zero, so a few are kept for reuse.
//
// A block whose realloc is pending has no address, but may get it back: its place is `held`, so
// that putting it back needs no memory.

enum {
	SHADOW_LEAF_SHIFT = 22,
	SHADOW_LEAF_SLOTS = 1 << (SHADOW_LEAF_SHIFT - 4),
	SHADOW_DIRECTORY = 1 << (47 - SHADOW_LEAF_SHIFT),
	SHADOW_SPARES = 8,
};

struct shadow_leaf {
	uint32_t slots[SHADOW_LEAF_SLOTS];
	uint32_t n;      // slots in use or held
	uint32_t region; // its index in the directory
	uint32_t number; // its index in `leaves`
};

struct shadow {
	struct shadow_leaf **directory;
	VEC(struct shadow_leaf *) leaves;
	uint8_t *ever; // by region: it had a leaf
	struct shadow_leaf *spares[SHADOW_SPARES];
	uint32_t n_spares;
	struct shadow_leaf *emptied; // the last one that became empty, maybe in use again; or NULL
	struct map odd; // blocks at addresses without a slot: not a multiple of 16, or above 47 bits
	uint32_t n_odd_held; // places held there
};

void shadow_init(struct shadow *s);
void shadow_finish(struct shadow *s);

/** No block has an address any more, and no place is held. */
void shadow_clear(struct shadow *s);

/** An upper bound of the memory in use. */
uint64_t shadow_bytes(const struct shadow *s);

// Slow paths of the functions below
void shadow_add_leaf(struct shadow *s, uint64_t ptr);
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

/** Make room for a block at `ptr`. */
static inline void shadow_reserve(struct shadow *s, uint64_t ptr) {
	if (UNLIKELY(shadow_is_odd(ptr))) {
		(void)map_reserve(&s->odd, s->n_odd_held + 1ul);
	} else if (UNLIKELY(!shadow_leaf_of(s, ptr))) {
		shadow_add_leaf(s, ptr);
	}
}

/** Put a block at `ptr` and return the one it replaces. Requires room, reserved or held. */
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

/** Remove the block at `ptr` and return it, or BLOCK_NONE. */
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

uint32_t shadow_at(const struct shadow *s, uint64_t ptr);

/** Like shadow_take, but the block's place stays held. */
uint32_t shadow_hold(struct shadow *s, uint64_t ptr);

/** Release a place held by shadow_hold, also if it is in use again. */
void shadow_release(struct shadow *s, uint64_t ptr);

// ---- reallocs in progress
//
// Between REALLOC and MOVED or STAYED the block is live but has no address. A thread can have
// several nested ones, because a signal handler may reallocate.

struct pending {
	uint64_t ptr;   // where the block was
	uint32_t block; // BLOCK_NONE: not a known one
	uint32_t thread;
	uint32_t next; // the thread's previous one; of an unused record, the next unused one
};

struct pendings {
	VEC(struct pending); // from 1; items[0] is unused
	uint32_t unused;
};

/** `newest`: the thread's newest one. Requires room, also for items[0]. */
static inline void pendings_push(struct pendings *p, uint32_t *newest, struct pending pending) {
	p->n += p->n == 0;
	uint32_t number = p->unused;
	if (number) {
		p->unused = p->items[number].next;
	} else {
		number = (uint32_t)p->n++;
	}
	pending.next = *newest;
	p->items[number] = pending;
	*newest = number;
}

/** False: the thread has none. */
static inline bool pendings_pop(struct pendings *p, uint32_t *newest, struct pending *out) {
	uint32_t number = *newest;
	if (!number) {
		return false;
	}
	*out = p->items[number];
	*newest = out->next;
	p->items[number].block = 0;
	p->items[number].thread = 0;
	p->items[number].next = p->unused;
	p->unused = number;
	return true;
}

// ---- blocks from before the attach
//
// They are found while events are already being recorded, so unknown addresses freed meanwhile are
// kept until then. Private to the aggregate.

struct old_blocks {
	bool is_waiting;      // the search is not over
	struct extent *items; // ascending, with usable bytes; 0: freed since
	size_t n;
	uint64_t n_freed, freed_bytes, all_bytes;
	VEC(uint64_t) unknown; // addresses freed while waiting
};

/** Free a block that was never seen. True: it is one of these. */
bool old_blocks_free(struct old_blocks *o, uint64_t ptr);

/** Set the old blocks; takes ownership (from malloc). Returns how many unknown frees match. */
uint64_t old_blocks_take(struct old_blocks *o, struct extent *blocks, size_t n);

void old_blocks_finish(struct old_blocks *o);
