// SPDX-License-Identifier: MIT
/* Ranks the stacks and sites of a whole recording, and joins the stacks of one node. */
#include "engine/breakdown.h"
#include "engine/suppress.h"

struct rank *rank_stacks(const struct recording *r, enum lens_metric metric, uint32_t *n) {
	const size_t most = r->stacks.n + 1ul;
	FREED struct radix_item *items = memory_new(2 * most,
			sizeof *items); // second half: for sorting
	struct rank *ranks = memory_new(most, sizeof *ranks);
	*n = 0;
	for (uint32_t i = 0; i < r->stacks.n; i++) {
		struct lens_costs c = lens_stack_costs(metric, &r->stacks.items[i]);
		items[*n] = (struct radix_item){~lens_metric_weight(metric, &c), i};
		*n += c.blocks > 0; // a block of zero bytes weighs nothing, but is a block
	}
	radix_sort(items, items + most, *n);
	for (uint32_t i = 0; i < *n; i++) {
		ranks[i] = (struct rank){~items[i].key, (uint32_t)items[i].value};
	}
	return ranks;
}

struct breakdown rank_sites(const struct recording *r, const struct names *n,
		enum lens_metric metric, struct arena *arena, struct lens_costs *total) {
	static const struct name nowhere = {.function = {(const uint8_t *)"(no stack)", 10}};
	SCOPED(arena) scratch = {0};
	struct lens lens = lens_whole();
	struct lens_result result;
	lens.metric = metric;
	check(lens_apply(&lens, r, n, &scratch, &result, NULL));
	*total = result.total;
	EACH_NUMBER(i, r->stacks.n, result.stacks[i].blocks == 0) { // not part of any site
		result.stacks[i] = (struct lens_costs){0};
	}
	struct breakdown out = breakdown_make(BY_SITE, &lens, r, n, &result, arena);
	EACH_OF(site, out.parts, out.n) {
		site->name = site->name ?: &nowhere;
	}
	return out;
}

// ---- by node

/** Suppressed blocks by their new rows. `row`: per node, its stack + 1. */
static void suppressed_by_node(const struct recording *r, const uint32_t *row, struct arena *arena,
		struct recording *out) {
	uint32_t n = 0;
	out->suppressed.items = arena_new(arena, struct rec_suppressed, out->stacks.n);
	struct rec_suppressed *items = out->suppressed.items;
	EACH(v, r->suppressed) {
		uint32_t stack = row[r->stacks.items[v->stack].node] - 1;
		ADD_FIELDS(&items[stack], v, blocks, bytes, left_bytes);
	}
	EACH_NUMBER(i, out->stacks.n, items[i].blocks) {
		items[i].stack = i;
		items[n++] = items[i];
	}
	out->suppressed.n = n;
	qsort(items, n, sizeof *items, suppressed_heaviest_first);
}

void recording_by_node(const struct recording *r, struct arena *arena, struct recording *out) {
	uint32_t *row = arena_new(arena, uint32_t, r->nodes.n); // + 1
	struct rec_stack *stacks = arena_new(arena, struct rec_stack, r->stacks.n);
	uint32_t n = 0;
	EACH(s, r->stacks) {
		if (row[s->node]) {
			struct rec_stack *to = &stacks[row[s->node] - 1];
			to->usual_size = s->first_ns < to->first_ns ? s->usual_size : to->usual_size;
			to->thread = 0;
			rec_stack_add(to, s);
		} else {
			stacks[n++] = *s;
			row[s->node] = n;
		}
	}
	*out = *r;
	out->stacks.items = stacks;
	out->stacks.n = n;
	out->lifetimes.n = 0;
	out->intervals.n = 0;
	out->untouched.n = 0;
	out->sizes.n = 0;
	if (r->suppressed.n > 0) {
		suppressed_by_node(r, row, arena, out);
	}
}
