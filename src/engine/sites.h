// SPDX-License-Identifier: MIT
#pragma once

/**
 * Who holds what: the stacks of a recording ranked by a metric, and gathered under the functions
 * that are the user's own. Whatever the metric, costs over all stacks sum to the recording's totals.
 */

#include "engine/names.h"

enum metric {
	METRIC_PEAK,        // live at the moment of the peak
	METRIC_NEVER_FREED, // live at the end
	METRIC_TEMPORARY,   // freed before their thread's next allocation
	METRIC_ALLOCATIONS, // all
	N_METRICS,
};

/** What a stack or a site costs under a metric: `blocks` and `bytes` are the metric's own. */
struct costs {
	uint64_t bytes, blocks;
	uint64_t allocations, temporary; // over the whole run, whatever the metric
};

struct costs costs_of_stack(const struct rec_stack *s, enum metric metric);

/** The number that ranks: bytes, or blocks for METRIC_TEMPORARY and METRIC_ALLOCATIONS. */
uint64_t costs_weight(const struct costs *c, enum metric metric);

/** Stacks with any weight, heaviest first; equal ones in the order of the recording. */
struct stack_ranking {
	uint32_t *stacks; // indices into recording.stacks
	uint32_t n;
	struct costs total;
};
bool rank_stacks(const struct recording *r, enum metric metric, struct arena *arena,
		struct stack_ranking *out);

/** All stacks that are named after the same function of the same file. */
struct site {
	const struct name *name; // as in its heaviest stack: so is its line
	struct costs costs;
	uint32_t heaviest; // stack
	uint32_t n_stacks;
};
struct site_ranking {
	struct site *sites; // heaviest first
	uint32_t n;
	struct costs total;
};
bool rank_sites(const struct recording *r, const struct names *n, enum metric metric,
		struct arena *arena, struct site_ranking *out);
