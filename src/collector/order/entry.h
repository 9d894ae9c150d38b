// SPDX-License-Identifier: MIT
#pragma once

/** One entry of a ring (wire/event.h): its place, and what it says. */

#include "collector/order/parts.h"

static const unsigned order_ring_shift[N_RINGS] = {10, 14};
_Static_assert(1 << 10 == RING_SMALL_ENTRIES && 1 << 14 == RING_BIG_ENTRIES, "order_ring_shift");

/** wire_phase without its division. */
static inline uint64_t order_phase(uint64_t index, unsigned shift) {
	return (~(index >> shift) & 1) << 63;
}

static inline struct wire_event *order_entry_at(const struct reader *r, unsigned ring,
		uint64_t index) {
	return &r->entries[ring][index & (wire_ring_entries(ring) - 1)];
}

enum order_entry_is {
	ENTRY_UNPUBLISHED,
	ENTRY_NOTHING, // void, or a time, a stamp or an epoch: the reader has taken it
	ENTRY_OTHER,   // of a kind that nobody reads yet
	ENTRY_BAD,     // makes no sense
	ENTRY_EVENT,
};

struct order_entry {
	uint32_t n;    // how many entries it takes
	order_key key; // of an event
	struct trace_event event;
};

enum order_entry_is order_read_entry(struct order *o, struct reader *r, unsigned ring,
		uint64_t index, struct order_entry *out);
