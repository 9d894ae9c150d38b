// SPDX-License-Identifier: MIT
/* Weighs the nodes of the merged call tree: growth and shrinkage by stack, summed like weights. */
#include "engine/call_tree.h"

/** Costs are not in tree order, so nodes are prefetched. */
static void add_own(struct diff_tree *t, const struct lens *l, const struct lens_costs *costs,
		const uint32_t *of_stack, uint32_t n, int side) {
	enum { AHEAD = 16 };
	for (uint32_t i = 0; i < n; i++) {
		if (i + AHEAD < n) {
			__builtin_prefetch(&t->nodes[of_stack[i + AHEAD]], 1);
		}
		t->nodes[of_stack[i]].weight[side] += lens_weight(l, &costs[i]);
		t->nodes[of_stack[i]].blocks[side] += costs[i].blocks;
	}
}

static void add_up(struct diff_tree *t) {
	EACH_OF(node, t->nodes, t->n) {
		uint64_t ours = node->weight[DIFF_OURS], base = node->weight[DIFF_BASE];
		node->grown = ours > base ? ours - base : 0;
		node->shrunk = base > ours ? base - ours : 0;
	}
	for (uint32_t i = t->n; i-- > 1;) {
		struct diff_node *node = &t->nodes[i], *parent = &t->nodes[node->parent];
		ADD_FIELDS(parent, node, weight[DIFF_OURS], weight[DIFF_BASE], blocks[DIFF_OURS],
				blocks[DIFF_BASE], grown, shrunk);
	}
}

static void make_of_parts(enum breakdown_by by, const struct diff_input input[N_DIFF_SIDES],
		enum lens_metric metric, struct arena *arena, struct diff_tree *out) {
	struct diff_sites parts;
	diff_sites_make(by, input, metric, arena, &parts);
	out->nodes = arena_new(arena, struct diff_node, parts.n + 1ul);
	out->labels = arena_new(arena, struct slice, parts.n + 1ul);
	for (out->n = 1; out->n <= parts.n; out->n++) {
		const struct diff_site *part = &parts.items[out->n - 1];
		out->labels[out->n_labels] = part->label;
		out->nodes[out->n] = (struct diff_node){.label = out->n_labels++,
				.weight = {part->weight[0], part->weight[1]},
				.blocks = {part->costs[0].blocks, part->costs[1].blocks}};
	}
}

static void make_of_calls(const struct diff_input input[N_DIFF_SIDES], enum lens_metric metric,
		struct arena *arena, struct diff_tree *out) {
	SCOPED(arena) scratch = {0};
	uint32_t *of_stack[N_DIFF_SIDES];
	call_tree_of_both(input, arena, &scratch, out, of_stack);
	for (int side = 0; side < N_DIFF_SIDES; side++) {
		struct lens lens;
		struct lens_result result;
		diff_apply(&input[side], metric, &scratch, &lens, &result);
		add_own(out, &lens, result.stacks, of_stack[side], input[side].recording->stacks.n, side);
	}
}

void diff_tree_make(enum breakdown_by by, const struct diff_input input[N_DIFF_SIDES],
		enum lens_metric metric, struct arena *arena, struct diff_tree *out) {
	*out = (struct diff_tree){0};
	if (by == N_BREAKDOWNS) {
		make_of_calls(input, metric, arena, out);
	} else {
		make_of_parts(by, input, metric, arena, out);
	}
	add_up(out);
}
