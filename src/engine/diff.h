// SPDX-License-Identifier: MIT
#pragma once
/**
 * Compares two recordings, also of different builds. Functions are matched by name, without the
 * hashes and numbers that compilers add, regardless of parameters, files, lines, addresses and
 * inlining. Code without a name is matched by its module.
 */

#include "engine/breakdown.h"

/** Ours is the newer one, with which the base is compared. */
enum diff_side { DIFF_OURS, DIFF_BASE, N_DIFF_SIDES };

/** What is compared: both sides' own lens, parsed of one text. The metric is ours'. */
struct diff_input {
	const struct recording *recording;
	const struct names *names;
	const struct lens *lens;
};

/** The same of a function. One without a name, at other addresses there, is known by its module. */
struct slice diff_label(const struct name *name);

/**
 * What a side costs by this metric instead of its lens's; *lens: with it. Here and below the metric
 * is of what the recordings' stacks count.
 */
void diff_apply(const struct diff_input *in, enum lens_metric metric, struct arena *arena,
		struct lens *lens, struct lens_result *out);

/** A part of a breakdown: by site, stacks named after one function. */
struct diff_site {
	struct slice label;
	const struct name *name; // as in ours, else as in the base; NULL: none
	struct lens_costs costs[N_DIFF_SIDES];
	uint64_t weight[N_DIFF_SIDES]; // of these, by the metric
};

/** All parts of both sides, by the size of their difference, largest first. */
struct diff_sites {
	struct diff_site *items;
	uint32_t n;
	uint32_t n_changed; // the others follow them
};

/** `metric` is used instead of the lenses'. All in the arena. */
void diff_sites_make(enum breakdown_by by, const struct diff_input input[N_DIFF_SIDES],
		enum lens_metric metric, struct arena *arena, struct diff_sites *out);

/**
 * Both call trees as one. Nodes come parents first; node 0 is the root. A node's width, where it is
 * drawn, is the sum of the increases and decreases below it, so that what grew here and shrank
 * there is not invisible: `grown` and `shrunk` are those of all stacks in it.
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

/** `by` not N_BREAKDOWNS: the parts of diff_sites_make() instead, each a node below the root. */
void diff_tree_make(enum breakdown_by by, const struct diff_input input[N_DIFF_SIDES],
		enum lens_metric metric, struct arena *arena, struct diff_tree *out);
