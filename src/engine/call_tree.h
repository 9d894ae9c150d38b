// SPDX-License-Identifier: MIT
#pragma once
/**
 * The stacks of a recording as a call tree for display. Inlined frames are frames, calls of one
 * function from one caller are one node whatever their lines, hidden frames are omitted, a run of
 * library frames is one box, and with `group` nodes are packages, modules or files. The shape
 * depends only on the lens's focus, hide, fold and group; the costs depend on range, text, thread
 * and metric. Nodes are in pre-order: the subtree of i is i .. end - 1, and parents come before
 * children. Node 0 is the root.
 */

#include "engine/diff.h"

struct call_node {
	const struct name *name; // of the first call seen; a box's outermost frame; NULL: the root
	uint32_t parent, end;
	uint32_t key;      // equal for all nodes of one function (or group)
	uint32_t n_folded; // of a box: how many frames it holds besides the outermost, at most
};

struct call_tree {
	struct call_node *nodes;
	uint32_t n;
	uint32_t *of_stack;      // per rec_stack: its node
	uint32_t *site_of_stack; // per rec_stack: the node it is named after, else its own
	uint32_t n_stacks;
	uint32_t *stacks;     // all of them, in the order of their nodes
	uint32_t *first;      // per node, and one past the end: where its own stacks begin in `stacks`
	uint32_t *last;       // per node: where those of its subtree end in `stacks`
	struct slice *labels; // per key: the group's name; NULL: nodes are functions
	uint32_t n_keys;
};

/** Everything is in the arena; names are borrowed. */
struct call_tree call_tree_make(const struct lens *l, const struct recording *r,
		const struct names *n, struct arena *arena);

/**
 * The call trees of two recordings merged by label. Fills `out` except for weights; of_stack, the
 * node of each stack of each side, is in scratch.
 */
void call_tree_of_both(const struct diff_input input[N_DIFF_SIDES], struct arena *arena,
		struct arena *scratch, struct diff_tree *out, uint32_t *of_stack[N_DIFF_SIDES]);

/**
 * The bare nodes of a whole recording: one per frame key (by names_number; from 1) and caller,
 * recursion included. of_node: the node in which each node of the recording ends.
 */
void call_tree_by_keys(const struct recording *r, const struct names *n, uint32_t *keys,
		struct arena *arena, struct call_tree *out, uint32_t **of_node);

/** A node's function (in full) or group; "" for the root. */
struct slice call_tree_label(const struct call_tree *t, uint32_t node);

/** The stacks of a subtree are adjacent, so its cost is a difference of two prefix sums. */
struct tree_costs {
	const struct call_tree *tree;
	const struct lens *lens;         // whose metric ranks nodes
	const struct lens_costs *stacks; // of its result
	struct lens_costs *before;       // per place in tree->stacks: the sum before it
};

struct tree_costs call_tree_costs(const struct call_tree *t, const struct lens *l,
		const struct lens_result *result, struct arena *arena);

/** The cost of the stacks that go through a node or end in it; of node 0, the result's total. */
static inline struct lens_costs call_tree_all(const struct tree_costs *c, uint32_t node) {
	return lens_costs_between(&c->before[c->tree->first[node]], &c->before[c->tree->last[node]]);
}

/** The cost of the stacks that end in a node. */
static inline struct lens_costs call_tree_own(const struct tree_costs *c, uint32_t node) {
	const uint32_t *first = &c->tree->first[node];
	return lens_costs_between(&c->before[first[0]], &c->before[first[1]]);
}

/** A function (or group), wherever it is called. */
struct call_function {
	uint32_t node;         // one of its nodes, for its name
	struct lens_costs own; // of the stacks named after it, as in findings; unfolded: that end in it
	struct lens_costs all; // of the stacks that contain it, each once
};

/**
 * Those that cost anything; own costs add up to the total. Functions are ordered by `all`, heaviest
 * first, so that outer ones precede inner ones. Groups are ordered by `own`: who is responsible
 * comes before the runtime that everything goes through.
 */
struct call_functions {
	struct call_function *items;
	uint32_t n;
};
struct call_functions call_tree_functions(const struct tree_costs *costs, struct arena *arena);

// ---- bottom-up

/**
 * A node of the bottom-up tree: all stacks that end in one chain of functions. Expanded by levels,
 * as the whole is many times larger than the call tree.
 */
struct up_entry {
	uint32_t node;   // of the call tree: how far up this path was followed
	uint32_t source; // where the path began: a stack; for call_tree_callers, a node
};
struct up_node {
	uint32_t node; // a call node with this node's name
	struct lens_costs costs;
	struct up_entry *entries; // the paths it stands for
	uint32_t n_entries;
};
struct up_nodes {
	struct up_node *items; // heaviest first
	uint32_t n;
	struct lens_costs outermost; // paths without a further caller, or callee
};

/** The first level: the functions in which stacks end. */
struct up_nodes call_tree_bottom_up(const struct tree_costs *costs, struct arena *arena);

/**
 * The first level for one function: at most one node, with the cost of the function and its
 * callees. Each stack counts once, by the function's outermost call in it.
 */
struct up_nodes call_tree_callers(const struct tree_costs *costs, struct slice function,
		struct arena *arena);

/** The callees of a node of call_tree_callers. */
struct up_nodes up_node_callees(const struct tree_costs *costs, const struct up_node *node,
		struct arena *arena);

/** The callers of a node of call_tree_callers (`is_inclusive`) or call_tree_bottom_up. */
struct up_nodes up_node_open(const struct tree_costs *costs, const struct up_node *node,
		bool is_inclusive, struct arena *arena);
