// SPDX-License-Identifier: MIT
#pragma once

/** The aggregate's inside, for its own sources. */

#include "engine/aggregate.h"
#include "engine/bins.h"
#include "engine/blocks.h"
#include "engine/pending.h"
#include "engine/shadow.h"
#include "engine/sizes.h"
#include "engine/stacks.h"
#include "engine/threads.h"

enum {
	BATCH = 256,              // events
	CHANGES = 3 * BATCH,      // an event is at most one block born and two ended
	BLOCKS_PREFETCH = 500000, // from so many live blocks on, fetching ahead pays
	SHORT_LIVED_NUMBER = 16,
	SHORT_LIVED_NS = 1000000,
};

enum change_kind {
	CHANGE_ALLOC = 1,
	CHANGE_FREE = 2,
	CHANGE_GONE = 3, // ended by an exec
};

/** What an event means for its stack. Made by the first loop, applied by the second. */
struct change {
	uint64_t size;
	uint64_t time; // an allocation's moment; a freed block's life
	uint32_t stack;
	uint32_t epoch; // of the peak, before; 0: a new peak, nothing is to be kept
	uint16_t from;  // of a block that ended: bins_edge_after(its birth)
	uint8_t kind;   // enum change_kind
	uint8_t is_realloc : 1;
	uint8_t is_temporary : 1;
	uint8_t is_short_lived : 1;
	uint8_t moves_edge : 1; // after it, the running period has a new maximum
};
_Static_assert(sizeof(struct change) == 32, "two in a cache line");

struct aggregate {
	struct shadow shadow;
	struct blocks blocks;
	struct stacks stacks;
	struct sizes sizes;
	struct bins bins;
	struct threads threads;
	struct pendings pendings;

	uint64_t label, moment; // of the last event: its time, and the time that it got
	uint64_t n_events;
	struct rec_summary sum;     // its counting part, as of now
	struct rec_quality quality; // its part
	uint32_t epoch;             // of the peak, from 1
	bool is_epoch_used;         // something was kept in it

	size_t n_changes;
	struct change changes[CHANGES];
};
