// SPDX-License-Identifier: MIT
#include "base/intern.h"
#include "engine/call_tree.h"
#include "engine/diff.h"

/*
 * Each side has its call tree, whose nodes know their function by a key. Keys of both sides that
 * read the same get one label. Then both trees are laid over each other from the root inwards: the
 * children of all nodes that became one are told apart by their label alone, in a table of labels
 * that says which of them were met below this parent. Nothing is hashed per node, and what is
 * touched after each other lies near each other on either side.
 */

enum { NO_LABEL = UINT32_MAX, AHEAD = 8 };

/** The node that a label has below a parent. */
struct met {
	uint32_t parent, node; // node 0: none
};

/** What a node of one side became. */
struct placed {
	uint32_t merged;
	uint32_t twin; // the side's next node that became the same; 0: none
};

struct merging {
	struct diff_tree *out;
	struct arena *arena;
	const struct call_tree *const *trees;
	uint32_t *labels[N_DIFF_SIDES];      // per key: its label
	struct placed *placed[N_DIFF_SIDES]; // per node of a side
	uint32_t (*first)[N_DIFF_SIDES];     // per merged node: one of each side's nodes; 0: none
	uint32_t *waiting;                   // merged nodes whose children were not looked at
	uint32_t n_waiting;
	struct met *met; // per label
	struct intern label_ids;
};

/** A new one if need be. NO_LABEL: no memory. */
static uint32_t find_label(struct merging *m, struct slice label) {
	struct intern_probe probe = intern_probe(hash_slice(label));
	while (intern_next(&m->label_ids, &probe)) {
		if (slice_equal(m->out->labels[probe.id], label)) {
			return probe.id;
		}
	}
	if (!intern_add(&m->label_ids, probe.hash, m->out->n_labels)) {
		return NO_LABEL;
	}
	m->out->labels[m->out->n_labels] = label;
	return m->out->n_labels++;
}

/** Code without a name is known by its module. */
static struct slice label_of(const struct name *name) {
	bool is_unnamed = !name->has_name && name->module.size;
	return is_unnamed ? path_base(name->module) : diff_match(name->function);
}

/**
 * A box and a function of one name are one. Names lie in the order of their keys: asked in that
 * order, they come from memory many times faster than in the order of the tree.
 */
static bool find_labels(struct merging *m, enum diff_side side) {
	const struct call_tree *t = m->trees[side];
	const struct name **names = arena_new(m->arena, const struct name *, t->n_keys);
	m->labels[side] = arena_new(m->arena, uint32_t, t->n_keys);
	bool ok = names && m->labels[side];
	for (uint32_t i = 1; ok && i < t->n; i++) {
		names[t->nodes[i].key] = t->nodes[i].name;
	}
	for (uint32_t key = 0; ok && key < t->n_keys; key++) {
		if (names[key]) {
			uint32_t label = find_label(m, t->labels ? t->labels[key] : label_of(names[key]));
			m->labels[side][key] = label;
			ok = label != NO_LABEL;
		}
	}
	return ok;
}

/** The child of `parent` that is called so, a new one if need be. */
static uint32_t child_of(struct merging *m, uint32_t parent, uint32_t label) {
	struct met *met = &m->met[label];
	if (met->node == 0 || met->parent != parent) {
		*met = (struct met){parent, m->out->n++};
		m->out->nodes[met->node] = (struct diff_node){.parent = parent, .label = label};
		m->waiting[m->n_waiting++] = met->node;
	}
	return met->node;
}

/** The children of one side's node, which became `parent`. */
static void add_children(struct merging *m, enum diff_side side, uint32_t node, uint32_t parent) {
	const struct call_node *nodes = m->trees[side]->nodes;
	for (uint32_t i = node + 1; i < nodes[node].end; i = nodes[i].end) {
		uint32_t child = child_of(m, parent, m->labels[side][nodes[i].key]);
		uint32_t *first = &m->first[child][side];
		m->placed[side][i] = (struct placed){child, *first};
		*first = i;
	}
}

static void merge(struct merging *m) {
	for (int side = 0; side < N_DIFF_SIDES; side++) {
		add_children(m, (enum diff_side)side, 0, 0);
	}
	while (m->n_waiting) {
		uint32_t parent = m->waiting[--m->n_waiting];
		for (int side = 0; side < N_DIFF_SIDES; side++) {
			for (uint32_t i = m->first[parent][side]; i; i = m->placed[side][i].twin) {
				add_children(m, (enum diff_side)side, i, parent);
			}
		}
	}
}

static bool make_room(struct merging *m) {
	size_t most = (size_t)m->trees[0]->n + m->trees[1]->n;
	size_t n_labels = (size_t)m->trees[0]->n_keys + m->trees[1]->n_keys;
	m->out->nodes = arena_new(m->arena, struct diff_node, most);
	m->out->labels = arena_new(m->arena, struct slice, n_labels);
	m->out->n = 1;
	m->waiting = arena_new(m->arena, uint32_t, most);
	m->met = arena_new(m->arena, struct met, n_labels);
	m->first = arena_alloc(m->arena, most, sizeof *m->first);
	bool ok = m->out->nodes && m->out->labels && m->waiting && m->met && m->first;
	for (int side = 0; ok && side < N_DIFF_SIDES; side++) {
		m->placed[side] = arena_new(m->arena, struct placed, m->trees[side]->n);
		ok = m->placed[side];
	}
	return ok;
}

/** Stacks come in no order of the tree: their nodes are called for before their turn. */
static void add_own(struct merging *m, enum diff_side side, enum lens_metric metric,
		const struct lens_result *result) {
	const uint32_t *of_stack = m->trees[side]->of_stack;
	const struct placed *placed = m->placed[side];
	uint32_t n = m->trees[side]->n_stacks;
	for (uint32_t i = 0; i < n; i++) {
		if (i + 2 * AHEAD < n) {
			__builtin_prefetch(&placed[of_stack[i + 2 * AHEAD]]);
			__builtin_prefetch(&m->out->nodes[placed[of_stack[i + AHEAD]].merged], 1);
		}
		struct diff_node *node = &m->out->nodes[placed[of_stack[i]].merged];
		node->weight[side] += lens_metric_weight(metric, &result->stacks[i]);
	}
}

static void add_up(struct diff_tree *t) {
	for (uint32_t i = 0; i < t->n; i++) {
		struct diff_node *node = &t->nodes[i];
		uint64_t ours = node->weight[DIFF_OURS], base = node->weight[DIFF_BASE];
		node->grown = ours > base ? ours - base : 0;
		node->shrunk = base > ours ? base - ours : 0;
	}
	for (uint32_t i = t->n; i-- > 1;) {
		const struct diff_node *node = &t->nodes[i];
		struct diff_node *parent = &t->nodes[node->parent];
		parent->weight[DIFF_OURS] += node->weight[DIFF_OURS];
		parent->weight[DIFF_BASE] += node->weight[DIFF_BASE];
		parent->grown += node->grown;
		parent->shrunk += node->shrunk;
	}
}

bool diff_tree_merge(const struct call_tree *const trees[N_DIFF_SIDES],
		const struct lens_result *const results[N_DIFF_SIDES], enum lens_metric metric,
		struct arena *arena, struct diff_tree *out, struct err *err) {
	struct merging m = {.out = out, .arena = arena, .trees = trees};
	*out = (struct diff_tree){0};
	bool ok = make_room(&m) && find_labels(&m, DIFF_OURS) && find_labels(&m, DIFF_BASE);
	if (ok) {
		merge(&m);
		add_own(&m, DIFF_OURS, metric, results[DIFF_OURS]);
		add_own(&m, DIFF_BASE, metric, results[DIFF_BASE]);
		add_up(out);
	}
	intern_finish(&m.label_ids);
	return ok || err_memory(err);
}

bool diff_tree_make(const struct diff_input input[N_DIFF_SIDES], enum lens_metric metric,
		struct arena *arena, struct diff_tree *out, struct err *err) {
	struct call_tree trees[N_DIFF_SIDES];
	struct lens_result results[N_DIFF_SIDES];
	for (int side = 0; side < N_DIFF_SIDES; side++) {
		const struct diff_input *in = &input[side];
		struct lens lens = *in->lens;
		lens.metric = metric;
		if (!call_tree_make(&lens, in->recording, in->names, arena, &trees[side], err) ||
				!lens_apply(&lens, in->recording, in->names, arena, &results[side], err)) {
			return false;
		}
	}
	const struct call_tree *const both[N_DIFF_SIDES] = {&trees[0], &trees[1]};
	const struct lens_result *const costs[N_DIFF_SIDES] = {&results[0], &results[1]};
	return diff_tree_merge(both, costs, metric, arena, out, err);
}
