// SPDX-License-Identifier: MIT
#pragma once

/**
 * Ranks the stacks of a whole recording by a metric, and groups them by the user's functions. For
 * every metric, the costs of all stacks add up to the recording's totals.
 */

#include "engine/lens.h"

/** Stacks with any block, heaviest first; equal ones in the order of the recording. */
struct stack_ranking {
	uint32_t *stacks; // indices into recording.stacks
	uint32_t n;
	struct lens_costs total;
};
bool rank_stacks(const struct recording *r, enum lens_metric metric, struct arena *arena,
		struct stack_ranking *out);

/** All stacks that are named after the same function of the same file. */
struct site {
	const struct name *name; // as in its heaviest stack: so is its line
	struct lens_costs costs;
	uint32_t heaviest; // stack
	uint32_t n_stacks;
};
struct site_ranking {
	struct site *sites; // heaviest first
	uint32_t n;
	struct lens_costs noise; // LENS_NEVER_FREED: what runtimes keep for themselves, whoever called
							 // them (stack_is_noise); in no site, but in the total
	struct lens_costs total;
};

/** The sites of a recording by each of `metrics`, into out[n_metrics], in one pass. */
bool rank_sites(const struct recording *r, const struct names *n, const enum lens_metric *metrics,
		uint32_t n_metrics, struct arena *arena, struct site_ranking *out);
