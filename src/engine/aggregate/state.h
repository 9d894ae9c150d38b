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

/** An allocation as KDE's rule sees it. */
struct kind_of_block {
	uint64_t size;
	uint32_t stack;
};

/** Never freed by processes that have ended. */
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

	uint64_t label, moment; // of the last event: its time, and its moment
	uint64_t n_events;
	struct rec_summary sum;     // as of now; frees and reallocs are sums of others
	struct rec_quality quality; // its part
	VEC(struct left) left;      // by stack
	uint64_t watched_bytes;     // aggregate_watch; UINT64_MAX: off
	uint32_t epoch;             // of the peak, from 1
	bool is_epoch_used;         // a stack or thread kept its values in it
	bool follows_kde, is_told_temporary;
	bool has_numbers;                 // events have block numbers, not addresses
	struct kind_of_block first, last; // the first event's, and the one before this; for KDE's rule
};

/** The moment of an event with this time, if the last one's was `last`. */
static inline uint64_t next_moment(uint64_t last, uint64_t label) {
	const uint64_t latest = (uint64_t)1 << 62; // later times are nonsense; sums must not overflow
	label = label < latest ? label : latest;
	uint64_t moment = label > last ? label : last + 1;
	// No event is at a period's first moment: the values there are those from before
	return moment + ((moment & ((1 << BINS_SHORTEST_SHIFT) - 1)) == 0);
}

/** Prefetch for the first events; pair_events does so for later ones. */
void pair_fetch(const struct aggregate *a, const struct trace_event *events, size_t n);

/**
 * Process the events of the running period, at most a batch, after reserve_batch. Returns how many.
 */
size_t pair_events(struct aggregate *a, const struct trace_event *events, size_t n);

void pair_exec(struct aggregate *a, uint64_t label, uint64_t moment);

/** The exec ends blocks, at most ENDS. `is_left`: they count in aggregate.left, which has room. */
void pair_gone(struct aggregate *a, const uint32_t *blocks, size_t n, bool is_left);

/** Undo a pending realloc. False: its address was reused, so the realloc took place. */
bool pair_give_back(struct aggregate *a, const struct pending *p);
