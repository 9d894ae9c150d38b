// SPDX-License-Identifier: MIT
#pragma once
/** Sorting and searching by a number, in an array of numbers or of structs that begin with one. */

#include <stddef.h>
#include <stdint.h>

/** Less than 0, 0, or more: as x is less than, equal to or more than y. */
static inline int compare_u64(uint64_t x, uint64_t y) {
	return (x > y) - (x < y);
}

/** What is sorted by weight without moving it, as it may be large. */
struct rank {
	uint64_t weight;
	uint32_t index; // of what is ranked
};

/** For qsort: the heaviest first, of equal ones the lowest index. */
static inline int rank_heaviest_first(const void *a, const void *b) {
	const struct rank *x = a, *y = b;
	return compare_u64(y->weight, x->weight) ?: compare_u64(x->index, y->index);
}

/** For qsort: by the number, rising. */
static inline int by_number(const void *a, const void *b) {
	return compare_u64(*(const uint64_t *)a, *(const uint64_t *)b);
}

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

// ---- sorting many items by a number, in a tenth of the time of qsort from 100,000 on

struct radix_item {
	uint64_t key;
	uint64_t value; // the caller's: mostly where the thing is
};

/**
 * Items by rising key; equal ones stay in the order in which they came (Knuth, The Art of Computer
 * Programming, vol. 3, 5.2.5, algorithm R). `scratch`: room for as many. Time: n for each byte in
 * which keys differ.
 */
void radix_sort(struct radix_item *items, struct radix_item *scratch, size_t n);
