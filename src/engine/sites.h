// SPDX-License-Identifier: MIT
#pragma once
/**
 * Ranks the stacks of a whole recording by a metric, and groups them by the user's functions; or
 * joins those of all threads, for queries that do not distinguish threads. For every metric, the
 * costs of all stacks add up to the recording's totals.
 */

#include "engine/breakdown.h"

/** Stacks with any block, heaviest first; equal ones in the order of the recording. */
struct stack_ranking {
	uint32_t *stacks; // indices into recording.stacks
	uint32_t n;
	struct lens_costs total;
};
bool rank_stacks(const struct recording *r, enum lens_metric metric, struct arena *arena,
		struct stack_ranking *out);

/** Stacks that are named after the same function of the same file, as of their heaviest one. */
struct site_ranking {
	struct part *sites; // heaviest first
	uint32_t n;
	struct lens_costs total;
};

/** The sites of a recording by a metric. False: no memory. */
bool rank_sites(const struct recording *r, const struct names *n, enum lens_metric metric,
		struct arena *arena, struct site_ranking *out);

/**
 * The recording with one stack per node, for all threads together. A shallow copy, whose stacks
 * live in `arena`; it has no intervals, sizes, lifetimes or untouched bytes, because those name
 * stacks by their rows. False: no memory.
 */
bool recording_by_node(const struct recording *r, struct arena *arena, struct recording *out,
		struct err *err);
