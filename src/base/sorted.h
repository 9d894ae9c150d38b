// SPDX-License-Identifier: MIT
#pragma once

/** Binary search for a number, in an array of numbers or of structs that begin with one. */

#include <stddef.h>
#include <stdint.h>

/**
 * The index of the first of `n` items whose number, at `keys` and every `stride` bytes after, is at
 * least `least`. The numbers do not descend. `n`: all are less.
 */
static inline size_t sorted_first_of(const void *keys, size_t n, size_t stride, uint64_t least) {
	size_t low = 0, high = n;
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (*(const uint64_t *)(const void *)((const char *)keys + middle * stride) < least) {
			low = middle + 1;
		} else {
			high = middle;
		}
	}
	return low;
}

/** The same for plain numbers. */
static inline size_t sorted_first(const uint64_t *items, size_t n, uint64_t least) {
	return sorted_first_of(items, n, sizeof *items, least);
}
