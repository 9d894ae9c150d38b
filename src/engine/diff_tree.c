// SPDX-License-Identifier: MIT
#include "base/intern.h"
#include "engine/call_tree.h"
#include "engine/diff.h"

/*
 * Each side has its call tree, whose nodes know their function by a key. Keys of both sides that
 * read the same get one label; then both trees, parents first, are laid over each other by (merged
 * parent, label). The table of nodes is asked once per node of either side: it is what takes the
 * time, so all that it compares lies in it.
 */

struct slot {
	uint32_t parent, label;
	uint32_t node; // 0: free
};

struct merging {
	struct diff_tree *out;
	struct arena *arena;
	struct slot *slots;
	uint32_t mask;
	struct intern label_ids;
};

static uint32_t find_label(struct merging *m, struct slice label) {
	struct intern_probe probe = intern_probe(hash_slice(label));
	while (intern_next(&m->label_ids, &probe)) {
		if (slice_equal(m->out->labels[probe.id], label)) {
			return probe.id;
		}
	}
	if (!intern_add(&m->label_ids, probe.hash, m->out->n_labels)) {
		return UINT32_MAX;
	}
	m->out->labels[m->out->n_labels] = label;
	return m->out->n_labels++;
}

/** Code without a name is known by its module. */
static struct slice label_of(const struct call_tree *t, uint32_t node) {
	const struct name *name = t->nodes[node].name;
	bool is_unnamed = !t->labels && name && !name->has_name && name->module.size;
	struct slice label = call_tree_label(t, node);
	return is_unnamed ? path_base(name->module) : t->labels ? label : diff_match(label);
}

/** Per key of one side: the label. A box and a function of one name are one. */
static uint32_t *find_labels(struct merging *m, const struct call_tree *t) {
	uint32_t *labels = arena_new(m->arena, uint32_t, t->n_keys + 1ul);
	for (uint32_t i = 1; labels && i < t->n; i++) {
		uint32_t *label = &labels[t->nodes[i].key];
		if (*label == 0) {
			uint32_t found = find_label(m, label_of(t, i));
			if (found == UINT32_MAX) {
				return NULL;
			}
			*label = found + 1;
		}
	}
	return labels;
}

static uint32_t place_of(const struct merging *m, uint32_t parent, uint32_t label) {
	return hash_pair(parent, label) & m->mask;
}

static uint32_t find_node(struct merging *m, uint32_t parent, uint32_t label) {
	for (uint32_t at = place_of(m, parent, label);; at = (at + 1) & m->mask) {
		struct slot *s = &m->slots[at];
		if (s->node == 0) {
			*s = (struct slot){parent, label, m->out->n};
			m->out->nodes[m->out->n] = (struct diff_node){.parent = parent, .label = label};
			return m->out->n++;
		}
		if (s->parent == parent && s->label == label) {
			return s->node;
		}
	}
}

/** Per node of one side: the merged node. */
static uint32_t *merge(struct merging *m, const struct call_tree *t, const uint32_t *labels) {
	uint32_t *merged = arena_new(m->arena, uint32_t, t->n);
	for (uint32_t i = 1; merged && i < t->n; i++) {
		const struct call_node *n = &t->nodes[i];
		merged[i] = find_node(m, merged[n->parent], labels[n->key] - 1);
	}
	return merged;
}

static bool make_room(struct merging *m, const struct call_tree *const trees[N_DIFF_SIDES]) {
	size_t most = (size_t)trees[0]->n + trees[1]->n;
	uint32_t size = 64;
	while (size < most * 3 / 2) { // most nodes are in both
		size *= 2;
	}
	m->mask = size - 1;
	m->slots = arena_new(m->arena, struct slot, size);
	m->out->nodes = arena_new(m->arena, struct diff_node, most);
	m->out->labels = arena_new(m->arena, struct slice, (size_t)trees[0]->n_keys + trees[1]->n_keys);
	m->out->n = 1;
	return m->slots && m->out->nodes && m->out->labels;
}

static void add_own(struct diff_tree *t, const struct diff_input *in, enum diff_side side,
		const struct call_tree *tree, const uint32_t *merged, const struct lens_result *result) {
	for (uint32_t i = 0; i < in->recording->stacks.n; i++) {
		struct diff_node *node = &t->nodes[merged[tree->of_stack[i]]];
		lens_costs_add(&node->own.side[side], &result->stacks[i]);
	}
}

static void add_up(struct diff_tree *t, const struct lens *lens) {
	for (uint32_t i = t->n; i-- > 0;) {
		struct diff_node *node = &t->nodes[i];
		int64_t delta = diff_delta(lens, &node->own);
		node->grown += delta > 0 ? (uint64_t)delta : 0;
		node->shrunk += delta < 0 ? -(uint64_t)delta : 0;
		for (int side = 0; side < N_DIFF_SIDES; side++) {
			lens_costs_add(&node->all.side[side], &node->own.side[side]);
			if (i > 0) {
				lens_costs_add(&t->nodes[node->parent].all.side[side], &node->all.side[side]);
			}
		}
		if (i > 0) {
			t->nodes[node->parent].grown += node->grown;
			t->nodes[node->parent].shrunk += node->shrunk;
		}
	}
}

bool diff_tree_merge(const struct call_tree *const trees[N_DIFF_SIDES],
		const struct lens_result *const results[N_DIFF_SIDES],
		const struct diff_input input[N_DIFF_SIDES], enum lens_metric metric, struct arena *arena,
		struct diff_tree *out, struct err *err) {
	struct merging m = {.out = out, .arena = arena};
	*out = (struct diff_tree){0};
	bool ok = make_room(&m, trees);
	for (int side = 0; ok && side < N_DIFF_SIDES; side++) {
		uint32_t *labels = find_labels(&m, trees[side]);
		uint32_t *merged = labels ? merge(&m, trees[side], labels) : NULL;
		ok = merged != NULL;
		if (ok) {
			add_own(out, &input[side], (enum diff_side)side, trees[side], merged, results[side]);
		}
	}
	intern_finish(&m.label_ids);
	struct lens lens = *input[DIFF_OURS].lens;
	lens.metric = metric;
	if (ok) {
		add_up(out, &lens);
	}
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
	return diff_tree_merge(both, costs, input, metric, arena, out, err);
}
