// SPDX-License-Identifier: MIT
#pragma once

/**
 * Checks the row of events that the collector's order gives out, without trusting it: each event
 * carries its block's serial number in its size field. One thread.
 */

#include "collector/order/order.h"

#include <stdatomic.h>

// What became of a serial
enum { TRUTH_ALLOC = 1, TRUTH_FREE = 2 };

struct judged {
	uint64_t wrong;    // ended at an address that did not hold the serial
	uint64_t twice;    // begun at an address that was not empty
	uint64_t unpaired; // answers to a realloc that nobody asked for
	uint64_t threads, ended, events;
};
extern struct judged judged;

/** What the order is to be created with. */
extern const struct order_sink judge_sink;

/** For serials from 1 to `n_serials` - 1. False: no memory. */
bool judge_set_up(uint32_t n_serials);

/** How many serials did not become what they really did, by `truth`. */
uint64_t judge_count_misjudged(const _Atomic uint8_t *truth, uint32_t n_serials);
