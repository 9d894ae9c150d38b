// SPDX-License-Identifier: MIT
#pragma once
/** The aggregate's state, and what its sources call of each other. */

#include "engine/aggregate.h"
#include "engine/costs/bins.h"
#include "engine/costs/stacks.h"
#include "engine/costs/threads.h"
#include "engine/live/blocks.h"

enum {
	BATCH = 256,      // events
	ENDS = 2 * BATCH, // an event ends at most two blocks
	SHORT_LIVED_NUMBER = 16,
	SHORT_LIVED_NS = 1000000,
};

/** How a block ended; 0: freed. */
enum {
	END_REALLOC = 1,
	END_GONE = 2, // by an exec
	END_TEMPORARY = 4,
	END_SHORT_LIVED = 8,
};

/** A kind of allocation, for KDE's rule. */
struct kind_of_block {
	uint64_t size;
	uint32_t stack;
};

/** What processes that have ended never freed. */
struct left {
	uint64_t blocks, bytes;
};

struct aggregate {
	struct shadow shadow;
	struct block_pool blocks;
	struct stacks stacks;
	struct sizes sizes;
	struct bins bins;
	struct threads threads;
	struct pendings pendings;
	struct old_blocks old;

	uint64_t label, moment; // of the last event: its time, and the time that it got
	uint64_t n_events;
	struct rec_summary sum;     // as of now; frees and reallocs are sums of others
	struct rec_quality quality; // its part
	VEC(struct left) left;      // by stack
	uint64_t watched_bytes;     // aggregate_watch; UINT64_MAX: nobody asks
	uint32_t epoch;             // of the peak, from 1
	bool is_epoch_used;         // something was kept in it
	bool follows_kde, is_told_temporary;
	bool has_numbers;                 // events have numbers of blocks, not addresses
	struct kind_of_block first, last; // of all; before the event at hand. For KDE's rule
};

/** The moment that an event of this time has, when the last one's was `last`. */
static inline uint64_t next_moment(uint64_t last, uint64_t label) {
	const uint64_t latest = (uint64_t)1
			<< 62; // what is beyond is nonsense; sums shall not overflow
	label = label < latest ? label : latest;
	uint64_t moment = label > last ? label : last + 1;
	// A period's first moment is no event's: what it holds there is what came before it
	return moment + ((moment & ((1 << BINS_SHORTEST_SHIFT) - 1)) == 0);
}

/** Ask for the cache lines that the first events need; pair_events asks for those of later ones. */
void pair_fetch(const struct aggregate *a, const struct trace_event *events, size_t n);

/**
 * Digest the events that belong to the running period, at most a batch. reserve_batch was called.
 * Gives how many.
 */
size_t pair_events(struct aggregate *a, const struct trace_event *events, size_t n);

/** An exec at this moment. */
void pair_exec(struct aggregate *a, uint64_t label, uint64_t moment);

/** It ends a block. `is_left`: of aggregate.left, in which there is room. */
void pair_gone(struct aggregate *a, uint32_t block, bool is_left);

/** A realloc did not happen. False: its address was handed out again, so it did. */
bool pair_give_back(struct aggregate *a, const struct pending *p);
