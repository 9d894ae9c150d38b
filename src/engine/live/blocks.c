// SPDX-License-Identifier: MIT
/* Grows the pool of live blocks. */
#include "engine/live/blocks.h"

#include "sys/pages.h"

bool block_pool_reserve(struct block_pool *b, uint32_t more) {
	size_t need = (size_t)(b->n ? b->n : 1) + more;
	if (need > BLOCK_UNUSED ||
			!pages_reserve((void **)&b->items, &b->capacity, need, sizeof *b->items) ||
			!pages_reserve((void **)&b->unused, &b->unused_capacity, BLOCKS_AHEAD + need,
					sizeof *b->unused)) {
		return false;
	}
	if (b->n == 0) {
		b->items[BLOCK_NONE].stack = BLOCK_UNUSED;
		b->n = 1;
	}
	return true;
}

void block_pool_finish(struct block_pool *b) {
	pages_give(b->unused, b->unused_capacity * sizeof *b->unused);
	pages_give(b->items, b->capacity * sizeof *b->items);
	*b = (struct block_pool){0};
}
