// SPDX-License-Identifier: MIT
#pragma once

/** The state of engine/mappings.h, and what its sources share. */

#include "base/index.h"
#include "base/vec.h"
#include "engine/aggregate/state.h"
#include "engine/costs/bins.h"
#include "engine/mappings.h"
#include "engine/mappings/pieces.h"

#define MAPPING_NONE UINT32_MAX

/** What one call has mapped, as long as a page of it is. */
struct mapping {
	uint64_t birth, left_bytes;
	uint32_t stack; // of an unused one: the next
};

struct mapping_stack {
	struct rec_mapping sum; // the peak's values are those kept in `epoch`
	uint64_t epoch;
	uint32_t hint; // bins_log
};

/** The lowest piece that the last unmapping call has ended. stack INDEX_NONE: there was none. */
struct last_unmapped {
	uint64_t start;
	uint32_t thread, stack, sort;
};

struct mappings {
	struct pieces pieces;
	VEC(struct mapping) mappings;
	uint32_t unused; // of `mappings`
	VEC(struct mapping_stack) stacks;
	struct index by_node;
	struct bins bins;
	struct last_unmapped last;
	uint64_t page_mask;
	uint64_t label, moment; // as in struct aggregate
	uint64_t epoch;         // of the peak
	uint64_t maps, mapped_bytes, live_maps, live_bytes, peak_bytes, peak_time_ns;
};

/** The totals of now. */
static inline struct rec_edge mappings_edge(const struct mappings *m) {
	return (struct rec_edge){.bytes = m->live_bytes,
			.blocks = m->live_maps,
			.allocations = m->maps,
			.allocated_bytes = m->mapped_bytes};
}
