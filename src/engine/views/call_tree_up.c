// SPDX-License-Identifier: MIT
/*
 * The bottom-up tree, from allocating functions to their callers. A node is a list of paths: where
 * each began, and how far up it was followed. Opening a node follows each path by one call, and
 * groups the paths by the function they then stand in.
 */
#include "engine/call_tree.h"

/** A level under construction: paths, and the costs of those without a further node. */
struct level {
	const struct tree_costs *costs;
	bool is_inclusive; // paths begin in nodes, else in stacks
	struct up_nodes out;
	VEC(struct up_entry) entries; // paths that stand in a node
};

static struct lens_costs cost_of(const struct level *l, uint32_t source) {
	return l->is_inclusive ? call_tree_all(l->costs, source) : l->costs->stacks[source];
}

static void add_path(struct level *l, uint32_t node, uint32_t source) {
	if (node) {
		(void)vec_add(&l->entries, (struct up_entry){node, source});
	} else {
		struct lens_costs c = cost_of(l, source);
		lens_costs_add(&l->out.outermost, &c);
	}
}

/** Group paths by the key of their function. `group`: of each path. */
static void find_groups(struct level *l, uint32_t *group) {
	SCOPED(index) keys = {0};
	const struct call_node *nodes = l->costs->tree->nodes;
	struct up_nodes *out = &l->out;
	(void)index_reserve(&keys, 1);
	for (uint32_t i = 0; i < l->entries.n; i++) {
		const struct up_entry *e = &l->entries.items[i];
		const uint32_t key = nodes[e->node].key;
		group[i] = INDEX_FIND_OR_PUT(&keys, hash_u64(key), k, nodes[out->items[k].node].key == key,
				out->items, out->n, (struct up_node){.node = e->node});
		struct lens_costs c = cost_of(l, e->source);
		lens_costs_add(&out->items[group[i]].costs, &c);
	}
}

HEAVIEST_FIRST(heaviest_first, struct up_node, node);

static struct up_nodes make_nodes(struct level *l, struct arena *arena) {
	SCOPED(arena) scratch = {0};
	const uint32_t n = (uint32_t)l->entries.n;
	struct up_nodes *out = &l->out;
	out->items = arena_new(&scratch, struct up_node, n);
	struct up_entry *entries = arena_new(arena, struct up_entry, n);
	uint32_t *group = arena_new(&scratch, uint32_t, n);
	uint32_t *order = arena_new(&scratch, uint32_t, n);
	uint32_t *starts = arena_new(&scratch, uint32_t, n + 2ul);
	find_groups(l, group);
	GROUP_BY(order, starts, out->n, i, n, group[i]);
	for (uint32_t i = 0; i < n; i++) {
		entries[i] = l->entries.items[order[i]];
	}
	for (uint32_t i = 0; i < out->n; i++) {
		out->items[i].entries = entries + starts[i];
		out->items[i].n_entries = starts[i + 1] - starts[i];
	}
	qsort_r(out->items, out->n, sizeof *out->items, heaviest_first, (void *)l->costs->lens);
	out->items = arena_copy(arena, out->items, out->n, sizeof *out->items);
	vec_finish(&l->entries);
	return *out;
}

struct up_nodes call_tree_bottom_up(const struct tree_costs *costs, struct arena *arena) {
	const struct call_tree *t = costs->tree;
	struct level l = {.costs = costs};
	EACH_NUMBER(i, t->n_stacks, lens_costs_any(&costs->stacks[i])) {
		add_path(&l, t->of_stack[i], i);
	}
	return make_nodes(&l, arena);
}

struct up_nodes call_tree_callers(const struct tree_costs *costs, struct slice function,
		struct arena *arena) {
	const struct call_tree *t = costs->tree;
	struct level l = {.costs = costs, .is_inclusive = true};
	for (uint32_t i = 1; i < t->n;) {
		bool is_it = lens_is_named(call_tree_label(t, i), function);
		if (is_it) {
			add_path(&l, i, i);
		}
		i = is_it ? t->nodes[i].end : i + 1; // its callees are in its costs
	}
	return make_nodes(&l, arena);
}

struct up_nodes up_node_open(const struct tree_costs *costs, const struct up_node *node,
		bool is_inclusive, struct arena *arena) {
	struct level l = {.costs = costs, .is_inclusive = is_inclusive};
	EACH_OF(e, node->entries, node->n_entries) {
		add_path(&l, costs->tree->nodes[e->node].parent, e->source);
	}
	return make_nodes(&l, arena);
}

struct up_nodes up_node_callees(const struct tree_costs *costs, const struct up_node *node,
		struct arena *arena) {
	const struct call_node *nodes = costs->tree->nodes;
	struct level l = {.costs = costs, .is_inclusive = true};
	EACH_OF(e, node->entries, node->n_entries) {
		struct lens_costs c = call_tree_own(costs, e->node);
		lens_costs_add(&l.out.outermost, &c);
		for (uint32_t k = e->node + 1; k < nodes[e->node].end; k = nodes[k].end) {
			add_path(&l, k, k);
		}
	}
	return make_nodes(&l, arena);
}
