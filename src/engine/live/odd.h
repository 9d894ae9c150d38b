// SPDX-License-Identifier: MIT
#pragma once

/**
 * Finds live blocks at addresses that the shadow cannot represent. These are not a multiple of 16,
 * or more than 47 bits. Open addressing, linear probing, backward shift on removal, load at most
 * 1/2.
 */

#include <stdbool.h>
#include <stdint.h>

struct odd_slot {
	uint64_t ptr;
	uint32_t block; // BLOCK_NONE: empty
};

struct odd {
	struct odd_slot *slots;
	uint32_t n, mask;
	uint32_t n_held; // places promised to blocks whose realloc is pending
};

/** Room for one more. False: out of memory. */
bool odd_reserve(struct odd *o);

/** The block at `ptr` from now on; gives the one it replaces. odd_reserve made room. */
uint32_t odd_put(struct odd *o, uint64_t ptr, uint32_t block);

/** The block at `ptr`, or BLOCK_NONE. */
uint32_t odd_at(const struct odd *o, uint64_t ptr);

/** The block at `ptr`, which is there no more, or BLOCK_NONE. */
uint32_t odd_take(struct odd *o, uint64_t ptr);

void odd_finish(struct odd *o);
