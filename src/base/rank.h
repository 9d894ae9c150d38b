// SPDX-License-Identifier: MIT
#pragma once

/** Sorts large items by weight without moving them. */

#include <stdint.h>

struct rank {
	uint64_t weight;
	uint32_t index; // of what is ranked
};

/** For qsort: the heaviest first, of equal ones the lowest index. */
static inline int rank_heaviest_first(const void *a, const void *b) {
	const struct rank *x = a, *y = b;
	if (x->weight != y->weight) {
		return x->weight < y->weight ? 1 : -1;
	}
	return x->index < y->index ? -1 : x->index > y->index;
}
