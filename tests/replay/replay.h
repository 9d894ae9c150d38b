// SPDX-License-Identifier: MIT
#pragma once

/**
 * The slow, obvious version of the aggregate: it keeps every block that ever was and every value of
 * the total, and afterwards looks at a recording, figure by figure. It shares no code with
 * src/engine. Test code: without memory it stops.
 */

#include "base/err.h"
#include "trace/recording.h"
#include "trace/trace.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct replay_block {
	uint64_t ptr, size;
	uint64_t birth, death; // moments; death: UINT64_MAX while it lives
	uint64_t number;       // of its thread's allocations
	uint32_t node;
	uint32_t thread, freed_by;
	uint32_t next; // block at an address of the same bucket
	bool is_by_realloc, is_temporary, is_short_lived, is_gone;
};

/** Everything that is summed up, as it is from a moment on. */
struct replay_state {
	uint64_t moment;
	uint64_t bytes, blocks;
	uint64_t allocations, allocated_bytes, temporary;
};

struct replay_pending {
	uint64_t ptr;
	uint32_t block, thread; // block: UINT32_MAX: nothing was there
	bool is_over;
};

enum { REPLAY_BUCKETS = 1 << 16, REPLAY_NONE = UINT32_MAX };

struct replay {
	uint32_t max_sizes_per_stack;
	uint64_t label, moment;
	struct {
		struct replay_block *items;
		size_t n, capacity;
	} blocks; // in the order of their births
	struct {
		struct replay_state *items;
		size_t n, capacity;
	} states;
	struct {
		struct replay_pending *items;
		size_t n, capacity;
	} pendings;
	struct {
		uint64_t *items;
		size_t n, capacity;
	} thread_allocations; // by thread
	struct rec_summary sum;
	struct rec_quality quality;
	uint32_t buckets[REPLAY_BUCKETS];
};

struct replay *replay_create(uint32_t max_sizes_per_stack);
void replay_destroy(struct replay *r);

void replay_events(struct replay *r, const struct trace_event *events, size_t n);
void replay_thread_ended(struct replay *r, uint32_t thread, uint64_t now_ns);
void replay_exec(struct replay *r, uint64_t now_ns);

/**
 * Does the recording say the same, to the byte: summary, quality, stacks, the peak's composition,
 * edges and each stack's blocks at each of them, sizes, threads, handovers? False: `why` says
 * where not. Stacks are known by their nodes, threads (unless some are merged) by their indices.
 */
bool replay_agrees(const struct replay *r, const struct recording *rec, struct err *why);
