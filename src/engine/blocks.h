// SPDX-License-Identifier: MIT
#pragma once

/**
 * The live blocks: a pool of records, found by number. Numbers start at 1; a number is used again
 * as soon as its block has ended, the newest first, because it is still in the cache.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { BLOCK_NONE = 0, BLOCK_UNUSED = UINT32_MAX };

struct block {
	uint64_t size;
	uint64_t birth;  // its moment
	uint64_t number; // of its thread's allocations, this was that one
	uint32_t stack;  // BLOCK_UNUSED: not a block
	uint32_t thread; // of an unused record: the next unused one
};

struct block_pool {
	struct block *items;
	size_t capacity;
	uint32_t n;      // records ever used, with number 0
	uint32_t unused; // the newest unused record
};

/** Room for `more` further blocks. False: out of memory. */
bool block_pool_reserve(struct block_pool *b, uint32_t more);

/** A number for a new block; block_pool_reserve made room. */
static inline uint32_t block_pool_take(struct block_pool *b) {
	uint32_t number = b->unused;
	if (number == BLOCK_NONE) {
		return b->n++;
	}
	b->unused = b->items[number].thread;
	__builtin_prefetch(&b->items[b->unused], 1); // the next one's turn comes soon
	return number;
}

static inline void block_pool_give(struct block_pool *b, uint32_t number) {
	b->items[number].stack = BLOCK_UNUSED;
	b->items[number].thread = b->unused;
	b->unused = number;
}

/** Is that the number of a block? */
static inline bool block_pool_has(const struct block_pool *b, uint64_t number) {
	return number < b->n && b->items[number].stack != BLOCK_UNUSED;
}

/**
 * A number for a new block that the caller chose: one that was used before, or the next one; that is
 * taken for any other. Not together with block_pool_take.
 */
static inline uint32_t block_pool_claim(struct block_pool *b, uint64_t number) {
	if (number - 1 < b->n - 1) { // neither BLOCK_NONE nor new
		return (uint32_t)number;
	}
	b->items[b->n].stack = BLOCK_UNUSED;
	return b->n++;
}

void block_pool_finish(struct block_pool *b);
