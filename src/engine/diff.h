// SPDX-License-Identifier: MIT
#pragma once
/**
 * Compares two recordings, also of different builds. Functions match by name, without the hashes
 * and numbers that compilers add, regardless of parameters, files, lines, addresses and inlining.
 * Unnamed code matches by its module.
 */

#include "engine/breakdown.h"

/** Ours is the newer one, which is compared with the base. */
enum diff_side { DIFF_OURS, DIFF_BASE, N_DIFF_SIDES };

/** Each side has its own lens, parsed from the same text. The metric is that of ours. */
struct diff_input {
	const struct recording *recording;
	const struct names *names;
	const struct lens *lens;
};

/** The key by which a function matches; for one without a name, its module. */
struct slice diff_label(const struct name *name);

/** A side's cost by `metric`, one of blocks as below, not its lens's. *lens: with that metric. */
void diff_apply(const struct diff_input *in, enum lens_metric metric, struct arena *arena,
		struct lens *lens, struct lens_result *out);

/** A part of a breakdown; by site, the stacks named after one function. */
struct diff_site {
	struct slice label;
	const struct name *name; // as in ours, else as in the base; or NULL
	struct lens_costs costs[N_DIFF_SIDES];
	uint64_t weight[N_DIFF_SIDES]; // of these, by the metric
};

/** All parts of both sides, largest difference first. */
struct diff_sites {
	struct diff_site *items;
	uint32_t n;
	uint32_t n_changed; // the others follow
};

/** `metric` overrides the lenses'. Everything is in the arena. */
void diff_sites_make(enum breakdown_by by, const struct diff_input input[N_DIFF_SIDES],
		enum lens_metric metric, struct arena *arena, struct diff_sites *out);

/**
 * Both call trees merged, parents first; node 0 is the root. A node is drawn as wide as the
 * increases and decreases below it together, `grown` and `shrunk`, so that they do not cancel out.
 */
struct diff_node {
	uint32_t parent;
	uint32_t label;                // into labels
	uint64_t weight[N_DIFF_SIDES]; // by the metric: of the stacks that go through it or end in it
	uint64_t blocks[N_DIFF_SIDES]; // of these
	uint64_t grown, shrunk;
};

struct diff_tree {
	struct diff_node *nodes;
	uint32_t n;
	struct slice *labels;
	uint32_t n_labels;
};

/** `by` below N_BREAKDOWNS: the parts of diff_sites_make() instead, as children of the root. */
void diff_tree_make(enum breakdown_by by, const struct diff_input input[N_DIFF_SIDES],
		enum lens_metric metric, struct arena *arena, struct diff_tree *out);
