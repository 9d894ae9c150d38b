// SPDX-License-Identifier: MIT
#pragma once

/** For plain_collector.c: the blocks that are alive, a hash table of pointers and sizes. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

static struct block { uint64_t ptr, size; } * blocks;
static size_t n_blocks, block_capacity;

static struct block *block_at(uint64_t ptr) {
	size_t i = (ptr * 0x9E3779B97F4A7C15ull) >> 20 & (block_capacity - 1);
	while (blocks[i].ptr != 0 && blocks[i].ptr != ptr) {
		i = (i + 1) & (block_capacity - 1);
	}
	return &blocks[i];
}

/** False: there was one already, which is replaced. */
static bool block_add(uint64_t ptr, uint64_t size) {
	if (n_blocks * 2 >= block_capacity) {
		struct block *old = blocks;
		size_t n = block_capacity;
		block_capacity = n == 0 ? 1 << 16 : n * 2;
		blocks = calloc(block_capacity, sizeof *blocks);
		for (size_t i = 0; i < n; i++) {
			if (old[i].ptr != 0) {
				*block_at(old[i].ptr) = old[i];
			}
		}
		free(old);
	}
	struct block *b = block_at(ptr);
	bool is_new = b->ptr == 0;
	n_blocks += is_new;
	*b = (struct block){ptr, size};
	return is_new;
}

/** False: there is none. */
static bool block_remove(uint64_t ptr) {
	struct block *b = block_capacity == 0 ? NULL : block_at(ptr);
	if (b == NULL || b->ptr == 0) {
		return false;
	}
	n_blocks--;
	// Close the gap: whatever follows without a hole is put in anew
	size_t i = (size_t)(b - blocks);
	b->ptr = 0;
	for (i = (i + 1) & (block_capacity - 1); blocks[i].ptr != 0;
			i = (i + 1) & (block_capacity - 1)) {
		struct block moved = blocks[i];
		blocks[i].ptr = 0;
		*block_at(moved.ptr) = moved;
	}
	return true;
}
