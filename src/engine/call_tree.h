// SPDX-License-Identifier: MIT
#pragma once
/**
 * The stacks of a recording as a call tree for display. Inlined frames are frames, calls of one
 * function from one caller are one node whatever their lines, hidden frames are omitted, a run of
 * library frames is one box, and with `group` nodes are packages, modules or files. The tree
 * depends only on the lens's focus, hide, fold and group; costs under any range, text, thread and
 * metric are added to it.
 *
 * Nodes are in pre-order: the subtree of i is i .. end - 1, and parents come before children.
 * Node 0 is the root: everything.
 */

#include "engine/diff.h"

struct call_node {
	const struct name *name; // of the first call seen; a box's outermost frame; NULL: the root
	uint32_t parent, end;
	uint32_t key;      // equal for all nodes of one function (or group)
	uint32_t n_folded; // a box: how many frames it holds besides the outermost, at most
};

struct call_tree {
	struct call_node *nodes;
	uint32_t n;
	uint32_t *of_stack;      // per rec_stack: its node
	uint32_t *site_of_stack; // per rec_stack: the node it is named after; else where it ends
	uint32_t n_stacks;
	uint32_t *stacks;     // all of them, in the order of their nodes
	uint32_t *first;      // per node, and once more at the end: where in `stacks` its own begin
	uint32_t *last;       // per node: where in `stacks` those of its subtree end
	struct slice *labels; // per key: what a group is called; NULL: nodes are functions
	uint32_t n_keys;
};

/** All in the arena; names are borrowed. */
struct call_tree call_tree_make(const struct lens *l, const struct recording *r,
		const struct names *n, struct arena *arena);

/**
 * The call trees of two recordings as one, whose nodes are the same if their labels are: `out` but
 * for what its nodes weigh, and the node of each stack of each side, in scratch.
 */
void call_tree_of_both(const struct diff_input input[N_DIFF_SIDES], struct arena *arena,
		struct arena *scratch, struct diff_tree *out, uint32_t *of_stack[N_DIFF_SIDES]);

/**
 * The nodes alone of all of a recording: one for each frame's key (by names_number; from 1) that is
 * called by one node, even of the same key; and where each of its own nodes ends.
 */
void call_tree_by_keys(const struct recording *r, const struct names *n, uint32_t *keys,
		struct arena *arena, struct call_tree *out, uint32_t **of_node);

/** What a node is called: its function (in full), or its group. "" for the root. */
struct slice call_tree_label(const struct call_tree *t, uint32_t node);

/** The stacks of a subtree are adjacent: their cost is the difference of two sums. */
struct tree_costs {
	const struct call_tree *tree;
	const struct lens *lens;         // by which nodes rank
	const struct lens_costs *stacks; // of its result; all borrowed
	struct lens_costs *before;       // of all that stand before a place in tree->stacks
};

/** Compute the costs of the tree's nodes. */
struct tree_costs call_tree_costs(const struct call_tree *t, const struct lens *l,
		const struct lens_result *result, struct arena *arena);

/** What the stacks cost that go through a node or end in it; of node 0: the result's total. */
static inline struct lens_costs call_tree_all(const struct tree_costs *c, uint32_t node) {
	return lens_costs_between(&c->before[c->tree->first[node]], &c->before[c->tree->last[node]]);
}

/** What the stacks cost that end in a node. */
static inline struct lens_costs call_tree_own(const struct tree_costs *c, uint32_t node) {
	const uint32_t *first = &c->tree->first[node];
	return lens_costs_between(&c->before[first[0]], &c->before[first[1]]);
}

/** A function (or group) wherever it is called. */
struct call_function {
	uint32_t node; // one of its nodes, for its name
	struct lens_costs
			own; // of the stacks that are named after it, as findings are; unfolded: that end in it
	struct lens_costs all; // of the stacks that it is in, each once
};

/**
 * All that cost anything; own costs sum to the total. Functions by `all`, heaviest first: outer
 * ones hold inner ones. Groups by `own`: who is responsible comes before the runtime that
 * everything goes through.
 */
struct call_functions {
	struct call_function *items;
	uint32_t n;
};
struct call_functions call_tree_functions(const struct tree_costs *costs, struct arena *arena);

// ---- from the inside out

/**
 * A node of the bottom-up tree: all stacks that end in one chain of functions. It is opened level
 * by level, because the whole is many times larger than the tree itself.
 */
struct up_entry {
	uint32_t node;   // of the call tree: how far up this path was followed
	uint32_t source; // where the path began: a stack; for call_tree_callers, a node
};
struct up_node {
	uint32_t node; // a call node with this node's name
	struct lens_costs costs;
	struct up_entry *entries; // the paths that it stands for
	uint32_t n_entries;
};
struct up_nodes {
	struct up_node *items; // heaviest first
	uint32_t n;
	struct lens_costs outermost; // paths that have no further caller, or callee
};

/** The first level: the functions that stacks end in. */
struct up_nodes call_tree_bottom_up(const struct tree_costs *costs, struct arena *arena);

/**
 * The first level for one function: one node (or none), with what the function and its callees
 * cost; each stack counts once, by the function's outermost call in it.
 */
struct up_nodes call_tree_callers(const struct tree_costs *costs, struct slice function,
		struct arena *arena);

/** What it calls, of a node of call_tree_callers. */
struct up_nodes up_node_callees(const struct tree_costs *costs, const struct up_node *node,
		struct arena *arena);

/** Its callers. `is_inclusive`: of call_tree_callers, else of call_tree_bottom_up. */
struct up_nodes up_node_open(const struct tree_costs *costs, const struct up_node *node,
		bool is_inclusive, struct arena *arena);
