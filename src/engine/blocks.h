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

struct blocks {
	struct block *items;
	size_t capacity;
	uint32_t n;      // records ever used, with number 0
	uint32_t unused; // the newest unused record
};

/** Room for `more` further blocks. False: out of memory. */
bool blocks_reserve(struct blocks *b, uint32_t more);

/** A number for a new block; blocks_reserve made room. */
static inline uint32_t blocks_take(struct blocks *b) {
	uint32_t number = b->unused;
	if (number == BLOCK_NONE) {
		return b->n++;
	}
	b->unused = b->items[number].thread;
	return number;
}

static inline void blocks_give(struct blocks *b, uint32_t number) {
	b->items[number].stack = BLOCK_UNUSED;
	b->items[number].thread = b->unused;
	b->unused = number;
}

void blocks_finish(struct blocks *b);
