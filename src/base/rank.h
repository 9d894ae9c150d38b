// SPDX-License-Identifier: MIT
#pragma once

/** Sorts large items by weight without moving them. */

#include "base/sorted.h"

struct rank {
	uint64_t weight;
	uint32_t index; // of what is ranked
};

/** For qsort: the heaviest first, of equal ones the lowest index. */
static inline int rank_heaviest_first(const void *a, const void *b) {
	const struct rank *x = a, *y = b;
	int order = compare_u64(y->weight, x->weight);
	return order ? order : compare_u64(x->index, y->index);
}
