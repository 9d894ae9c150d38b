// SPDX-License-Identifier: MIT
/*
 * The call tree from the inside out: from allocating functions to their callers. A node is a list
 * of paths: where each began, and how far up it was followed. To open a node is to follow each path
 * by one call and to gather the paths by the function they then stand in.
 */
#include "engine/call_tree.h"

static struct lens_costs cost_of(const struct tree_costs *costs, bool is_inclusive,
		uint32_t source) {
	return is_inclusive ? call_tree_all(costs, source) : costs->stacks[source];
}

/** Paths, gathered by the key of the node they stand in. */
struct gathering {
	const struct tree_costs *costs;
	const struct up_entry *entries; // those that stand in a node
	uint32_t n;
	uint32_t *group;   // per entry
	struct index keys; // key -> group
	struct up_node *groups;
	uint32_t n_groups;
};

static bool find_group(struct gathering *g, uint32_t node, uint32_t *group) {
	const struct call_node *nodes = g->costs->tree->nodes;
	uint64_t hash = hash_u64(nodes[node].key);
	*group = INDEX_FIND_OR_PUT(&g->keys, hash, i, nodes[g->groups[i].node].key == nodes[node].key,
			g->groups, g->n_groups, (struct up_node){.node = node});
	return *group != INDEX_NONE;
}

static bool gather(struct gathering *g, bool is_inclusive, struct arena *arena) {
	for (uint32_t i = 0; i < g->n; i++) {
		if (!find_group(g, g->entries[i].node, &g->group[i])) {
			return false;
		}
		struct up_node *group = &g->groups[g->group[i]];
		struct lens_costs c = cost_of(g->costs, is_inclusive, g->entries[i].source);
		lens_costs_add(&group->costs, &c);
		group->n_entries++;
	}
	for (uint32_t i = 0; i < g->n_groups; i++) {
		g->groups[i].entries = arena_new(arena, struct up_entry, g->groups[i].n_entries);
		if (!g->groups[i].entries) {
			return false;
		}
		g->groups[i].n_entries = 0;
	}
	for (uint32_t i = 0; i < g->n; i++) {
		struct up_node *group = &g->groups[g->group[i]];
		group->entries[group->n_entries++] = g->entries[i];
	}
	return true;
}

HEAVIEST_FIRST(heaviest_first, struct up_node, node);

/** The nodes of one level, from paths that stand in them; `scratch`, which holds them, ends. */
static bool make_level(const struct tree_costs *costs, const struct up_entry *entries, uint32_t n,
		bool is_inclusive, struct arena *scratch, struct arena *arena, struct up_nodes *out,
		struct err *err) {
	struct gathering g = {.costs = costs, .entries = entries, .n = n};
	g.group = arena_new(scratch, uint32_t, n);
	g.groups = arena_new(scratch, struct up_node, n);
	bool ok = entries && g.group && g.groups && index_reserve(&g.keys, 1) &&
			gather(&g, is_inclusive, arena);
	out->items = ok ? arena_new(arena, struct up_node, g.n_groups) : NULL;
	if (out->items) {
		out->n = g.n_groups;
		memcpy(out->items, g.groups, g.n_groups * sizeof *g.groups);
		qsort_r(out->items, out->n, sizeof *out->items, heaviest_first, (void *)costs->lens);
	}
	index_finish(&g.keys);
	arena_finish(scratch);
	return out->items || err_memory(err);
}

bool call_tree_bottom_up(const struct tree_costs *costs, struct arena *arena, struct up_nodes *out,
		struct err *err) {
	const struct call_tree *t = costs->tree;
	*out = (struct up_nodes){0};
	struct arena scratch = {0};
	struct up_entry *entries = arena_new(&scratch, struct up_entry, t->n_stacks);
	uint32_t n = 0;
	for (uint32_t i = 0; entries && i < t->n_stacks; i++) {
		const struct lens_costs *c = &costs->stacks[i];
		if (t->of_stack[i] == 0) {
			lens_costs_add(&out->outermost, c);
		} else if (lens_costs_any(c)) {
			entries[n++] = (struct up_entry){t->of_stack[i], i};
		}
	}
	return make_level(costs, entries, n, false, &scratch, arena, out, err);
}

bool call_tree_callers(const struct tree_costs *costs, struct slice function, struct arena *arena,
		struct up_nodes *out, struct err *err) {
	const struct call_tree *t = costs->tree;
	*out = (struct up_nodes){0};
	struct arena scratch = {0};
	struct up_entry *entries = arena_new(&scratch, struct up_entry, t->n);
	uint32_t n = 0;
	for (uint32_t i = 1; entries && i < t->n;) {
		if (!lens_is_named(call_tree_label(t, i), function)) {
			i++;
			continue;
		}
		entries[n++] = (struct up_entry){i, i};
		i = t->nodes[i].end; // what it calls is in its costs
	}
	return make_level(costs, entries, n, true, &scratch, arena, out, err);
}

bool up_node_open(const struct tree_costs *costs, const struct up_node *node, bool is_inclusive,
		struct arena *arena, struct up_nodes *out, struct err *err) {
	*out = (struct up_nodes){0};
	struct arena scratch = {0};
	struct up_entry *entries = arena_new(&scratch, struct up_entry, node->n_entries);
	uint32_t n = 0;
	for (uint32_t i = 0; entries && i < node->n_entries; i++) {
		struct up_entry e = node->entries[i];
		e.node = costs->tree->nodes[e.node].parent;
		if (e.node) {
			entries[n++] = e;
		} else {
			struct lens_costs c = cost_of(costs, is_inclusive, e.source);
			lens_costs_add(&out->outermost, &c);
		}
	}
	return make_level(costs, entries, n, is_inclusive, &scratch, arena, out, err);
}

/** Entries of all nodes that are called from a place; how many. `entries` may be NULL. */
static uint32_t put_callees(const struct call_tree *t, const struct up_node *node,
		struct up_entry *entries) {
	uint32_t n = 0;
	for (uint32_t i = 0; i < node->n_entries; i++) {
		uint32_t caller = node->entries[i].node;
		for (uint32_t k = caller + 1; k < t->nodes[caller].end; k = t->nodes[k].end) {
			if (entries) {
				entries[n] = (struct up_entry){k, k};
			}
			n++;
		}
	}
	return n;
}

bool up_node_callees(const struct tree_costs *costs, const struct up_node *node,
		struct arena *arena, struct up_nodes *out, struct err *err) {
	*out = (struct up_nodes){0};
	for (uint32_t i = 0; i < node->n_entries; i++) {
		struct lens_costs c = call_tree_own(costs, node->entries[i].node);
		lens_costs_add(&out->outermost, &c);
	}
	struct arena scratch = {0};
	uint32_t n = put_callees(costs->tree, node, NULL);
	struct up_entry *entries = arena_new(&scratch, struct up_entry, n);
	if (entries) {
		(void)put_callees(costs->tree, node, entries);
	}
	return make_level(costs, entries, n, true, &scratch, arena, out, err);
}
