// SPDX-License-Identifier: MIT
#pragma once

#include <stddef.h>
#include <stdint.h>

/**
 * The index of the first of `n` ascending numbers that is at least `least`; `n` if all are less.
 */
static inline size_t sorted_first(const uint64_t *items, size_t n, uint64_t least) {
	size_t low = 0, high = n;
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (items[middle] < least) {
			low = middle + 1;
		} else {
			high = middle;
		}
	}
	return low;
}
