// SPDX-License-Identifier: MIT
#pragma once

/**
 * Blocks that a program had before it was attached to. They are found while events come already, so
 * addresses that were freed meanwhile, and that nobody knew, are kept until then. Private to the
 * aggregate.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct old_blocks {
	bool is_waiting; // they are being looked for
	uint64_t *ptrs;  // ascending
	uint64_t *sizes; // usable; 0: freed since
	size_t n;        // of both
	uint64_t n_freed, freed_bytes, all_bytes;
	struct {
		uint64_t *items;
		size_t n, capacity;
	} unknown; // addresses that were freed while waiting
};

/** A block that was never seen is freed. True: it is one of these. */
bool old_blocks_free(struct old_blocks *o, uint64_t ptr);

/** Here they are, from malloc, ours from now on. Returns how many frees that nobody knew were of these. */
uint64_t old_blocks_take(struct old_blocks *o, uint64_t *ptrs, uint64_t *sizes, size_t n);

void old_blocks_finish(struct old_blocks *o);
