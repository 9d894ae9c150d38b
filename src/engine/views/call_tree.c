// SPDX-License-Identifier: MIT
/*
 * Makes the call tree and adds costs to it. The recording's nodes come parents first. Each is
 * followed from where its caller ended: frame by frame, outermost first, a child of that name is
 * found or made. So the tree is made in one pass, and then laid out in pre-order. Two recordings
 * make one tree if one is followed after the other and nodes are keyed by labels that both have.
 */
#include "engine/call_tree.h"

enum { NODE_NONE = INDEX_NONE };

/** A tree under construction: nodes in order of creation, children as lists. */
struct maker {
	VEC(struct call_node) nodes;
	struct index children; // (parent, key) -> node
	struct index label_ids;

	// Of the recording being followed
	const struct lens *lens;
	const struct recording *recording;
	const struct names *names;
	struct lens_match match;
	struct end *ends; // per node
	uint32_t *keys;   // label numbers, see key_of; NULL: functions are keys
	bool is_by_frame; // keys are per frame, else per function
};

struct end {
	uint32_t node;    // NODE_NONE: no frame of the focus yet
	uint32_t n_boxed; // frames of the box so far; 0: not a box
};

static uint32_t child_of(struct maker *m, uint32_t parent, uint32_t key, const struct name *name) {
	uint64_t hash = hash_u64((uint64_t)parent << 32 | key);
	return VEC_FIND_OR_ADD(&m->children, &m->nodes, hash, n, n->parent == parent && n->key == key,
			(struct call_node){.name = name, .parent = parent, .key = key});
}

static bool has_groups(const struct maker *m) {
	return m->lens->group != LENS_BY_FUNCTION;
}

/** Where the number of its label is: frames of one function may be in several packages or files. */
static uint32_t *label_at(const struct maker *m, const struct name *frame) {
	return &m->keys[m->is_by_frame ? names_number(m->names, frame) : frame->function_id];
}

static uint32_t key_of(const struct maker *m, const struct name *frame) {
	return m->keys ? *label_at(m, frame) : frame->function_id;
}

static void follow(struct maker *m, struct end *end, const struct name *frame) {
	unsigned is = lens_frame_of(&m->match, frame);
	if (end->node == NODE_NONE) {
		if (!(is & LENS_IS_FOCUS)) {
			return;
		}
		*end = (struct end){0};
	}
	if (is & LENS_IS_HIDDEN) {
		return;
	}
	bool is_boxed = !has_groups(m) && !m->lens->is_unfolded && frame->owner == OWNER_LIBRARY;
	if (is_boxed && end->n_boxed) {
		struct call_node *box = &m->nodes.items[end->node];
		box->n_folded = end->n_boxed > box->n_folded ? end->n_boxed : box->n_folded;
		end->n_boxed++;
		return;
	}
	uint32_t key = key_of(m, frame);
	if (has_groups(m) && end->node && m->nodes.items[end->node].key == key) {
		return;
	}
	end->node = child_of(m, end->node, key, frame);
	end->n_boxed = is_boxed;
}

static void follow_all(struct maker *m) {
	const struct recording *r = m->recording;
	for (uint32_t i = 1; i < r->nodes.n; i++) {
		const struct name_list frames = names_of(m->names, r->nodes.items[i].location);
		struct end end = m->ends[r->nodes.items[i].parent];
		for (const struct name *f = frames.items + frames.n; f-- > frames.items;) {
			follow(m, &end, f);
		}
		m->ends[i] = end;
	}
}

// ---- labels

static struct slice label_of(const struct name *f, enum lens_group group) {
	// Code without a known source file is in the file of its program or library
	struct slice s = group == LENS_BY_FUNCTION          ? diff_label(f)
			: group == LENS_BY_PACKAGE                  ? names_package(f)
			: group == LENS_BY_FILE && f->file.size > 0 ? f->file
														: f->module;
	return s.size ? s : slice_of_text("(unknown)");
}

/** The number of a label, new if need be. */
static uint32_t intern(struct index *ix, struct call_tree *t, struct slice label) {
	uint64_t hash = slice_hash(SLICE_HASH, label);
	return INDEX_FIND_OR_PUT(ix, hash, i, slice_equal(t->labels[i], label), t->labels, t->n_keys,
			label);
}

static void find_labels(struct maker *m, struct arena *scratch, struct call_tree *t) {
	m->keys = arena_new(scratch, uint32_t, names_n_frames(m->names));
	(void)index_reserve(&m->label_ids, 1);
	for (uint32_t i = 0; i < m->recording->locations.n; i++) {
		const struct name_list frames = names_of(m->names, i);
		EACH(f, frames) {
			uint32_t *label = label_at(m, f);
			*label = *label ?: intern(&m->label_ids, t, label_of(f, m->lens->group));
		}
	}
}

/** `n_frames`: room for that many labels; 0 is the root's. */
static void begin(struct maker *m, struct call_tree *t, size_t n_frames, struct arena *arena) {
	t->labels = n_frames ? arena_new(arena, struct slice, n_frames + 1) : NULL;
	t->n_keys = 1;
	(void)index_reserve(&m->children, 1);
	(void)vec_push(&m->nodes);
}

/** Add the stacks of a recording; m->ends then tells where they end. */
static void add_recording(struct maker *m, const struct diff_input *in, struct arena *scratch,
		struct call_tree *t) {
	struct lens names_only = *in->lens;
	names_only.n_texts = 0;
	COPY_FIELDS(m, in, lens, recording, names);
	m->is_by_frame = m->is_by_frame || has_groups(m);
	m->match = lens_match_names(&names_only, in->recording, in->names, scratch);
	m->ends = arena_new(scratch, struct end, in->recording->nodes.n);
	if (t->labels) {
		find_labels(m, scratch, t);
	}
	m->ends[0].node = in->lens->n_focus ? NODE_NONE : 0;
	follow_all(m);
}

static uint32_t end_of_stack(const struct maker *m, uint32_t stack) {
	uint32_t node = m->ends[m->recording->stacks.items[stack].node].node;
	return node == NODE_NONE ? 0 : node;
}

// ---- pre-order

/** new_of[old]: its place in pre-order. Children keep their order. */
static void lay_out(const struct maker *m, struct arena *arena, uint32_t *new_of,
		struct call_tree *t) {
	uint32_t n = (uint32_t)m->nodes.n;
	const struct call_node *old = m->nodes.items;
	t->nodes = arena_new(arena, struct call_node, n);
	FREED uint32_t *sizes = memory_new(n, sizeof *sizes);
	FREED uint32_t *next = memory_new(n, sizeof *next); // where a node's next child goes
	for (uint32_t i = n; i-- > 1;) {
		sizes[i]++;
		sizes[old[i].parent] += sizes[i];
	}
	next[0] = 1;
	t->nodes[0] = (struct call_node){.end = n, .key = UINT32_MAX};
	for (uint32_t i = 1; i < n; i++) {
		uint32_t parent = old[i].parent;
		new_of[i] = next[parent];
		next[parent] += sizes[i];
		next[i] = new_of[i] + 1;
		t->nodes[new_of[i]] = old[i];
		t->nodes[new_of[i]].parent = new_of[parent];
		t->nodes[new_of[i]].end = new_of[i] + sizes[i];
	}
	t->n = n;
}

/** Sort stacks by their nodes. */
static void put_stacks(struct arena *arena, struct call_tree *t) {
	t->stacks = arena_new(arena, uint32_t, t->n_stacks);
	t->first = arena_new(arena, uint32_t, t->n + 2ul);
	t->last = arena_new(arena, uint32_t, t->n);
	GROUP_BY(t->stacks, t->first, t->n, i, t->n_stacks, t->of_stack[i]);
	for (uint32_t i = 0; i < t->n; i++) {
		t->last[i] = t->first[t->nodes[i].end];
	}
}

/** The innermost node at or above `end` that is the frame the stack is named after; else `end`. */
static uint32_t find_site(const struct maker *m, const struct call_tree *t, uint32_t rec_node,
		uint32_t end) {
	const struct name *named = lens_site(m->lens, m->names, rec_node);
	const struct name *site = names_site_frame(m->names, rec_node, named);
	uint32_t node = end, key = site ? key_of(m, site) : UINT32_MAX;
	while (node && t->nodes[node].key != key) {
		node = t->nodes[node].parent;
	}
	return node ? node : end;
}

static void make(const struct maker *m, struct arena *arena, struct arena *scratch,
		struct call_tree *t) {
	const struct recording *r = m->recording;
	uint32_t *new_of = arena_new(scratch, uint32_t, m->nodes.n);
	t->of_stack = arena_new(arena, uint32_t, r->stacks.n);
	t->site_of_stack = arena_new(arena, uint32_t, r->stacks.n);
	t->n_stacks = r->stacks.n;
	lay_out(m, arena, new_of, t);
	for (uint32_t i = 0; i < r->stacks.n; i++) {
		t->of_stack[i] = new_of[end_of_stack(m, i)];
		// Without folding, the innermost frame is the site, even of a wrapper or a runtime
		t->site_of_stack[i] = m->lens->is_unfolded
				? t->of_stack[i]
				: find_site(m, t, r->stacks.items[i].node, t->of_stack[i]);
	}
	put_stacks(arena, t);
}

static void finish(struct maker *m) {
	CALL_FOR(index_finish, m, children, label_ids);
	vec_finish(&m->nodes);
}

struct call_tree call_tree_make(const struct lens *l, const struct recording *r,
		const struct names *n, struct arena *arena) {
	SCOPED(arena) scratch = {0};
	struct maker m = {0};
	struct call_tree out = {0};
	bool is_grouped = l->group != LENS_BY_FUNCTION;
	begin(&m, &out, is_grouped ? names_n_frames(n) : 0, arena);
	add_recording(&m, &(struct diff_input){r, n, l}, &scratch, &out);
	out.n_keys = is_grouped ? out.n_keys : names_n_functions(n);
	make(&m, arena, &scratch, &out);
	finish(&m);
	return out;
}

void call_tree_by_keys(const struct recording *r, const struct names *n, uint32_t *keys,
		struct arena *arena, struct call_tree *out, uint32_t **of_node) {
	SCOPED(arena) scratch = {0};
	const struct lens all = {.is_unfolded = true};
	struct maker m = {.keys = keys, .is_by_frame = true};
	*out = (struct call_tree){0};
	begin(&m, out, 0, arena);
	add_recording(&m, &(struct diff_input){r, n, &all}, &scratch, out);
	uint32_t *new_of = arena_new(&scratch, uint32_t, m.nodes.n);
	*of_node = arena_new(arena, uint32_t, r->nodes.n);
	lay_out(&m, arena, new_of, out);
	for (uint32_t i = 0; i < r->nodes.n; i++) {
		(*of_node)[i] = new_of[m.ends[i].node];
	}
	finish(&m);
}

// ---- of two recordings

static bool are_same_names(const struct slice *a, uint32_t n_a, const struct slice *b,
		uint32_t n_b) {
	return n_a == n_b && ALL(i, n_a, slice_equal(a[i], b[i]));
}

/** As of two ranges of one recording: their stacks end in the same nodes. */
static bool have_same_tree(const struct diff_input *x, const struct diff_input *y) {
	const struct lens *a = x->lens, *b = y->lens;
	return x->recording == y->recording && x->names == y->names && a->group == b->group &&
			a->is_unfolded == b->is_unfolded &&
			are_same_names(a->focus, a->n_focus, b->focus, b->n_focus) &&
			are_same_names(a->hide, a->n_hide, b->hide, b->n_hide);
}

static void put_nodes(const struct maker *m, struct arena *arena, struct diff_tree *out) {
	out->n = (uint32_t)m->nodes.n;
	out->nodes = arena_new(arena, struct diff_node, out->n);
	for (uint32_t i = 1; i < out->n; i++) {
		out->nodes[i].parent = m->nodes.items[i].parent;
		out->nodes[i].label = m->nodes.items[i].key;
	}
}

void call_tree_of_both(const struct diff_input input[N_DIFF_SIDES], struct arena *arena,
		struct arena *scratch, struct diff_tree *out, uint32_t *of_stack[N_DIFF_SIDES]) {
	struct maker m = {0};
	struct call_tree t = {0};
	int n_trees = have_same_tree(&input[0], &input[1]) ? 1 : N_DIFF_SIDES;
	size_t n_frames = SUM(i, n_trees, names_n_frames(input[i].names));
	begin(&m, &t, n_frames, arena);
	for (int i = 0; i < n_trees; i++) {
		const uint32_t n = input[i].recording->stacks.n;
		of_stack[DIFF_BASE] = of_stack[i] = arena_new(scratch, uint32_t, n);
		add_recording(&m, &input[i], scratch, &t);
		for (uint32_t k = 0; k < n; k++) {
			of_stack[i][k] = end_of_stack(&m, k);
		}
	}
	put_nodes(&m, arena, out);
	out->labels = t.labels;
	out->n_labels = t.n_keys;
	finish(&m);
}

// ----

struct slice call_tree_label(const struct call_tree *t, uint32_t node) {
	const struct call_node *c = &t->nodes[node];
	return !c->name ? slice_of(NULL, 0) : t->labels ? t->labels[c->key] : c->name->function;
}

// ---- costs

struct tree_costs call_tree_costs(const struct call_tree *t, const struct lens *l,
		const struct lens_result *result, struct arena *arena) {
	enum { AHEAD = 16 };
	struct lens_costs *before = arena_new_unset(arena, struct lens_costs, t->n_stacks + 1ul);
	struct lens_costs sum = {0};
	for (uint32_t i = 0; i < t->n_stacks; i++) {
		__builtin_prefetch(&result->stacks[t->stacks[i + AHEAD < t->n_stacks ? i + AHEAD : i]]);
		before[i] = sum;
		lens_costs_add(&sum, &result->stacks[t->stacks[i]]);
	}
	before[t->n_stacks] = sum;
	return (struct tree_costs){t, l, result->stacks, before};
}

static int compare_costs(const struct lens *l, const struct call_function *a,
		const struct call_function *b) {
	int own = compare_u64(lens_weight(l, &b->own), lens_weight(l, &a->own));
	int all = compare_u64(lens_weight(l, &b->all), lens_weight(l, &a->all));
	return l->group == LENS_BY_FUNCTION ? all ?: own : own ?: all;
}

ORDER_BY(heaviest_first, struct call_function, compare_costs(user, a, b) ?: LOWEST(node));

/** Functions with any cost, by weight. */
static struct call_functions rank_functions(const struct call_function *by_key, uint32_t n_keys,
		const struct lens *l, struct arena *arena) {
	struct call_functions out = {.items = arena_new(arena, struct call_function, n_keys)};
	EACH_NUMBER(i, n_keys, lens_costs_any(&by_key[i].all)) {
		out.items[out.n++] = by_key[i];
	}
	qsort_r(out.items, out.n, sizeof *out.items, heaviest_first, (void *)l);
	return out;
}

struct call_functions call_tree_functions(const struct tree_costs *costs, struct arena *arena) {
	const struct call_tree *t = costs->tree;
	SCOPED(arena) scratch = {0};
	// One more, for stacks without any frame
	struct call_function *by_key = arena_new(&scratch, struct call_function, t->n_keys + 1ul);
	uint32_t *open_until = arena_new(&scratch, uint32_t, t->n_keys + 1ul);
	for (uint32_t i = 1; i < t->n; i++) {
		uint32_t key = t->nodes[i].key;
		struct call_function *f = &by_key[key];
		if (i >= open_until[key]) {
			f->node = f->node ? f->node : i;
			open_until[key] = t->nodes[i].end;
			struct lens_costs all = call_tree_all(costs, i);
			lens_costs_add(&f->all, &all);
		}
	}
	for (uint32_t i = 0; i < t->n_stacks; i++) {
		uint32_t node = t->site_of_stack[i];
		struct call_function *f = &by_key[node ? t->nodes[node].key : t->n_keys];
		lens_costs_add(&f->own, &costs->stacks[i]);
	}
	by_key[t->n_keys].all = by_key[t->n_keys].own;
	return rank_functions(by_key, t->n_keys + 1, costs->lens, arena);
}
