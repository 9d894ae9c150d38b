// SPDX-License-Identifier: MIT
#pragma once

/**
 * A loop in parts, side by side on the cores that this process may use, and joined before the call
 * returns. Parts write what no other part reads or writes, so the answer is the same as of one part
 * after the other, which is what happens where there is one core, or no thread to be had.
 */

#include <stdint.h>

enum { PARALLEL_MOST = 8 };

/** Cores that this process may use. */
unsigned parallel_cores(void);

/** How many parts to make of so much work: one per core, but none smaller than `least`. */
unsigned parallel_parts(uint64_t work, uint64_t least);

/** work(user, part) for each part < n_parts <= PARALLEL_MOST; the caller's thread does one of them. */
void parallel_run(unsigned n_parts, void (*work)(void *user, unsigned part), void *user);

/** Where a part begins: part n_parts begins at the end. */
static inline uint64_t parallel_begin(uint64_t work, unsigned n_parts, unsigned part) {
	return work / n_parts * part + work % n_parts * part / n_parts;
}
