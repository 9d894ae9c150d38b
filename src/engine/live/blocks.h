// SPDX-License-Identifier: MIT
#pragma once
/**
 * The live blocks, a pool of records that are found by number. Numbers start at 1; a number is
 * reused as soon as its block has ended, the newest first, because it is still in the cache. The
 * next numbers to be used are known in advance, so records of blocks that ended long ago are
 * prefetched in time.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { BLOCK_NONE = 0, BLOCK_UNUSED = UINT32_MAX, BLOCKS_AHEAD = 8 };

struct block {
	uint64_t size;
	uint64_t birth;  // its moment
	uint64_t number; // of its thread's allocations, this was that one
	uint32_t stack;  // BLOCK_UNUSED: not a block
	uint32_t thread;
};

struct block_pool {
	struct block *items;
	size_t capacity;
	uint32_t n;       // records ever used, with number 0
	uint32_t *unused; // BLOCKS_AHEAD times BLOCK_NONE, then numbers, the newest last; room for all
	size_t unused_capacity;
	uint32_t n_unused; // numbers
};

/** Room for `more` further blocks. False: out of memory. */
bool block_pool_reserve(struct block_pool *b, uint32_t more);

/** A number for a new block; block_pool_reserve made room. */
static inline uint32_t block_pool_take(struct block_pool *b) {
	if (b->n_unused == 0) {
		return b->n++;
	}
	const uint32_t *ahead = &b->unused[--b->n_unused];
	__builtin_prefetch(&b->items[*ahead], 1);
	return ahead[BLOCKS_AHEAD];
}

/** A block has ended; its number is for block_pool_take. */
static inline void block_pool_give(struct block_pool *b, uint32_t number) {
	b->items[number].stack = BLOCK_UNUSED;
	b->unused[BLOCKS_AHEAD + b->n_unused++] = number;
}

/** A block has ended; its number is for block_pool_claim. */
static inline void block_pool_release(struct block_pool *b, uint32_t number) {
	b->items[number].stack = BLOCK_UNUSED;
}

/** Is that the number of a block? */
static inline bool block_pool_has(const struct block_pool *b, uint64_t number) {
	return number < b->n && b->items[number].stack != BLOCK_UNUSED;
}

/**
 * A number for a new block that the caller chose: one that was used before, or the next one; that
 * is taken for any other. Not together with block_pool_take and block_pool_give.
 */
static inline uint32_t block_pool_claim(struct block_pool *b, uint64_t number) {
	if (number - 1 < b->n - 1) { // neither BLOCK_NONE nor new
		return (uint32_t)number;
	}
	b->items[b->n].stack = BLOCK_UNUSED;
	return b->n++;
}

void block_pool_finish(struct block_pool *b);
