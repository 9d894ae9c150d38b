// SPDX-License-Identifier: MIT
/*
 * Lays the call trees of two recordings over each other.
 *
 * Each side has its call tree, whose nodes know their function by a key. Keys of both sides that
 * read the same get one label. Then both trees are laid over each other from the root inwards: the
 * children of all nodes that became one are told apart by their label alone, in a table of labels
 * that says which of them were met below this parent. Nothing is hashed per node, and what is
 * touched after each other lies near each other on either side.
 *
 * Two ranges of one recording have one tree, which is laid over itself: once, not twice.
 */
#include "base/parallel.h"
#include "engine/call_tree.h"
#include "engine/diff.h"

enum { AHEAD = 16 };

/** The node that a label has below a parent. */
struct met {
	uint32_t parent, node; // node 0: none
};

/** A node of one side: what merging asks of it, and what it became. */
struct laid {
	uint32_t end;
	uint32_t label;
	uint32_t merged;
	uint32_t twin; // the side's next node that became the same; 0: none
};

struct text {
	struct slice text; // by which a key is matched
	uint32_t hash;
};

struct side {
	const struct call_tree *tree;
	struct text *texts; // per key
	uint32_t *labels;   // per key: its label
	struct laid *nodes;
	const struct lens_costs *costs; // per stack
	uint64_t *own;                  // per merged node: what the stacks weigh that end in it
};

struct merging {
	struct diff_tree *out;
	enum lens_metric metric;
	struct side sides[N_DIFF_SIDES];
	unsigned n_trees; // 1: both sides have the same, and what became of it is in the first
	unsigned n_parts; // of the work that is done in parts
	uint32_t (*first)[N_DIFF_SIDES]; // per merged node: one of each tree's nodes; 0: none
	uint32_t *waiting;               // merged nodes whose children were not looked at
	uint32_t n_waiting;
	struct met *met; // per label
	struct index label_ids;
};

// ---- labels

/** Of some keys of each tree. */
static void find_texts(void *user, unsigned part) {
	const struct merging *m = user;
	EACH_OF(s, m->sides, m->n_trees) {
		const struct call_tree *t = s->tree;
		uint32_t end = (uint32_t)parallel_begin(t->n_keys, m->n_parts, part + 1);
		for (uint32_t key = (uint32_t)parallel_begin(t->n_keys, m->n_parts, part); key < end;
				key++) {
			if (t->names[key]) {
				struct slice text = t->labels ? t->labels[key] : diff_label(t->names[key]);
				s->texts[key] = (struct text){text, (uint32_t)slice_hash(SLICE_HASH, text)};
			}
		}
	}
}

/** A new one if need be. INDEX_NONE: no memory. */
static uint32_t find_label(struct merging *m, const struct text *text) {
	return INDEX_FIND_OR_PUT(&m->label_ids, text->hash, i,
			slice_equal(m->out->labels[i], text->text), m->out->labels, m->out->n_labels,
			text->text);
}

/** A box and a function of one name are one. */
static bool find_labels(struct merging *m, const struct side *s) {
	for (uint32_t key = 0; key < s->tree->n_keys; key++) {
		if (s->tree->names[key]) {
			s->labels[key] = find_label(m, &s->texts[key]);
			if (s->labels[key] == INDEX_NONE) {
				return false;
			}
		}
	}
	return true;
}

// ---- nodes

/** Some nodes of each tree, without all that merging does not ask. */
static void lay(void *user, unsigned part) {
	const struct merging *m = user;
	EACH_OF(s, m->sides, m->n_trees) {
		const struct call_node *nodes = s->tree->nodes;
		uint32_t end = (uint32_t)parallel_begin(s->tree->n, m->n_parts, part + 1);
		for (uint32_t k = (uint32_t)parallel_begin(s->tree->n, m->n_parts, part); k < end; k++) {
			s->nodes[k].end = nodes[k].end;
			s->nodes[k].label = k ? s->labels[nodes[k].key] : 0;
		}
	}
}

/** The child of `parent` that is called so, a new one if need be. */
static uint32_t child_of(struct merging *m, uint32_t parent, uint32_t label) {
	struct met *met = &m->met[label];
	if (met->node == 0 || met->parent != parent) {
		*met = (struct met){parent, m->out->n++};
		m->out->nodes[met->node].parent = parent;
		m->out->nodes[met->node].label = label;
		m->waiting[m->n_waiting++] = met->node;
	}
	return met->node;
}

/** The children of one tree's node, which became `parent`. */
static void add_children(struct merging *m, unsigned tree, uint32_t node, uint32_t parent) {
	struct laid *nodes = m->sides[tree].nodes;
	for (uint32_t i = node + 1, end = nodes[node].end; i < end; i = nodes[i].end) {
		uint32_t child = child_of(m, parent, nodes[i].label);
		uint32_t *first = &m->first[child][tree];
		nodes[i].merged = child;
		nodes[i].twin = *first;
		*first = i;
	}
}

static void merge(struct merging *m) {
	for (unsigned tree = 0; tree < m->n_trees; tree++) {
		add_children(m, tree, 0, 0);
	}
	while (m->n_waiting) {
		uint32_t parent = m->waiting[--m->n_waiting];
		for (unsigned tree = 0; tree < m->n_trees; tree++) {
			for (uint32_t i = m->first[parent][tree]; i; i = m->sides[tree].nodes[i].twin) {
				add_children(m, tree, i, parent);
			}
		}
	}
}

// ---- weights

/** Costs come in no order of the tree, nor merged nodes: they are called for before their turn. */
static void add_own(const struct merging *m, unsigned side) {
	const struct side *s = &m->sides[side];
	const struct laid *nodes = m->sides[side % m->n_trees].nodes;
	const uint32_t *stacks = s->tree->stacks, *of_stack = s->tree->of_stack;
	uint32_t n = s->tree->n_stacks;
	for (uint32_t i = 0; i < n; i++) {
		if (i + 2 * AHEAD < n) {
			uint32_t soon = stacks[i + 2 * AHEAD];
			__builtin_prefetch(&s->costs[soon]);
			__builtin_prefetch(&nodes[of_stack[soon]]);
			__builtin_prefetch(&s->own[nodes[of_stack[stacks[i + AHEAD]]].merged], 1);
		}
		s->own[nodes[of_stack[stacks[i]]].merged] += lens_metric_weight(m->metric,
				&s->costs[stacks[i]]);
	}
}

static void add_own_of_part(void *user, unsigned part) {
	const struct merging *m = user;
	for (unsigned side = part; side < N_DIFF_SIDES; side += m->n_parts) {
		add_own(m, side);
	}
}

static void add_up(const struct merging *m) {
	struct diff_node *nodes = m->out->nodes;
	for (uint32_t i = m->out->n; i-- > 0;) {
		struct diff_node *node = &nodes[i];
		uint64_t ours = m->sides[DIFF_OURS].own[i], base = m->sides[DIFF_BASE].own[i];
		node->weight[DIFF_OURS] += ours;
		node->weight[DIFF_BASE] += base;
		node->grown += ours > base ? ours - base : 0;
		node->shrunk += base > ours ? base - ours : 0;
		if (i > 0) {
			struct diff_node *parent = &nodes[node->parent];
			parent->weight[DIFF_OURS] += node->weight[DIFF_OURS];
			parent->weight[DIFF_BASE] += node->weight[DIFF_BASE];
			ADD_FIELDS(parent, node, grown, shrunk);
		}
	}
}

// ----

/**
 * Room for up to `most` merged nodes and `n_labels` labels. What merging alone needs is in scratch.
 */
static bool make_room(struct merging *m, size_t most, size_t n_labels, struct arena *arena,
		struct arena *scratch) {
	m->out->nodes = arena_new(arena, struct diff_node, most);
	m->out->labels = arena_new(arena, struct slice, n_labels);
	m->out->n = 1;
	m->waiting = arena_new(scratch, uint32_t, most);
	m->met = arena_new(scratch, struct met, n_labels);
	m->first = arena_alloc(scratch, most, sizeof *m->first);
	bool ok = m->out->nodes && m->out->labels && m->waiting && m->met && m->first;
	for (unsigned i = 0; ok && i < m->n_trees; i++) {
		struct side *s = &m->sides[i];
		s->texts = arena_new(scratch, struct text, s->tree->n_keys);
		s->labels = arena_new(scratch, uint32_t, s->tree->n_keys);
		s->nodes = arena_new(scratch, struct laid, s->tree->n);
		ok = s->texts && s->labels && s->nodes;
	}
	return ok;
}

static bool make_room_for_weights(struct merging *m, struct arena *scratch) {
	bool ok = true;
	for (unsigned i = 0; i < N_DIFF_SIDES; i++) {
		m->sides[i].own = arena_new(scratch, uint64_t, m->out->n);
		ok = ok && m->sides[i].own;
	}
	return ok;
}

static bool merge_all(struct merging *m, struct arena *arena, struct arena *scratch) {
	enum { LEAST = 20000 }; // nodes: for fewer, starting a thread costs more than it brings
	size_t n_nodes = 0, n_keys = 0;
	bool ok = true;
	for (unsigned i = 0; i < m->n_trees; i++) {
		n_nodes += m->sides[i].tree->n;
		n_keys += m->sides[i].tree->n_keys;
	}
	m->n_parts = parallel_parts(n_nodes, LEAST);
	if (!make_room(m, n_nodes, n_keys, arena, scratch)) {
		return false;
	}
	parallel_run(m->n_parts, find_texts, m);
	ok = ok && ALL(i, m->n_trees, find_labels(m, &m->sides[i]));
	if (ok) {
		parallel_run(m->n_parts, lay, m);
		merge(m);
		ok = make_room_for_weights(m, scratch);
	}
	if (ok) {
		parallel_run(m->n_parts, add_own_of_part, m);
		add_up(m);
	}
	return ok;
}

bool diff_tree_merge(const struct call_tree *const trees[N_DIFF_SIDES],
		const struct lens_result *const results[N_DIFF_SIDES], enum lens_metric metric,
		struct arena *arena, struct diff_tree *out, struct err *err) {
	SCOPED(arena) scratch = {0};
	struct merging m = {.out = out, .metric = metric};
	m.n_trees = trees[DIFF_OURS] == trees[DIFF_BASE] ? 1 : N_DIFF_SIDES;
	*out = (struct diff_tree){0};
	for (unsigned i = 0; i < N_DIFF_SIDES; i++) {
		m.sides[i] = (struct side){.tree = trees[i], .costs = results[i]->stacks};
	}
	bool ok = merge_all(&m, arena, &scratch);
	index_finish(&m.label_ids);
	return ok || err_memory(err);
}

/** Two ranges of one recording, for one. */
static bool have_same_tree(const struct diff_input input[N_DIFF_SIDES]) {
	const struct diff_input *ours = &input[DIFF_OURS], *base = &input[DIFF_BASE];
	return ours->recording == base->recording && ours->names == base->names &&
			call_tree_is_same(ours->lens, base->lens);
}

bool diff_tree_make(const struct diff_input input[N_DIFF_SIDES], enum lens_metric metric,
		struct arena *arena, struct diff_tree *out, struct err *err) {
	struct call_tree trees[N_DIFF_SIDES];
	struct lens_result results[N_DIFF_SIDES];
	unsigned n_trees = have_same_tree(input) ? 1 : N_DIFF_SIDES;
	for (unsigned side = 0; side < N_DIFF_SIDES; side++) {
		const struct diff_input *in = &input[side];
		struct lens lens;
		if (!diff_apply(in, metric, arena, &lens, &results[side], err) ||
				(side < n_trees &&
						!call_tree_make(&lens, in->recording, in->names, arena, &trees[side],
								err))) {
			return false;
		}
	}
	const struct call_tree *const both[N_DIFF_SIDES] = {&trees[0], &trees[n_trees - 1]};
	const struct lens_result *const costs[N_DIFF_SIDES] = {&results[0], &results[1]};
	return diff_tree_merge(both, costs, metric, arena, out, err);
}
