// SPDX-License-Identifier: MIT
#pragma once
/**
 * Blocks that existed before the attach. They are found while events are already recorded, so
 * unknown addresses that are freed in the meantime are kept until then. Private to the aggregate.
 */

#include "base/base.h"

struct old_blocks {
	bool is_waiting; // they are being looked for
	uint64_t *ptrs;  // ascending
	uint64_t *sizes; // usable; 0: freed since
	size_t n;        // of both
	uint64_t n_freed, freed_bytes, all_bytes;
	VEC(uint64_t) unknown; // addresses that were freed while waiting
};

/** A block that was never seen is freed. True: it is one of these. */
bool old_blocks_free(struct old_blocks *o, uint64_t ptr);

/**
 * The blocks that were found; takes ownership of the arrays (from malloc). Returns how many frees
 * of unknown blocks were of these.
 */
uint64_t old_blocks_take(struct old_blocks *o, uint64_t *ptrs, uint64_t *sizes, size_t n);

void old_blocks_finish(struct old_blocks *o);
