// SPDX-License-Identifier: MIT
#pragma once

/**
 * Which block lives at an address: address -> block number. Made for allocators, whose blocks lie
 * side by side: neighbours in memory are neighbours here. A zeroed struct is empty.
 */

#include "base/map.h"

struct blocks {
	struct map regions;        // of 1 KiB of addresses -> index of its page
	struct map odd;            // addresses that are no multiple of 16
	struct blocks_page *pages; // [0] is not used
	uint32_t n_pages, capacity;
	uint32_t free_page;   // head of the list of pages without blocks
	uint64_t last_region; // the region asked for last, and its page; 0: none
	uint32_t last_page;
};

/** The block at an address, or 0. */
uint64_t blocks_get(struct blocks *b, uint64_t ptr);

/** `number` is not 0. False: out of memory, unchanged. */
bool blocks_put(struct blocks *b, uint64_t ptr, uint64_t number) ATTR_NODISCARD;

/** Remove; returns what was there, or 0. */
uint64_t blocks_take(struct blocks *b, uint64_t ptr);

void blocks_clear(struct blocks *b);
void blocks_finish(struct blocks *b);
