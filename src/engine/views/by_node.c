// SPDX-License-Identifier: MIT

/* Joins the stacks of one node. */

#include "engine/by_node.h"

#include "engine/suppress.h"

static void add_stack(struct rec_stack *to, const struct rec_stack *s) {
	to->usual_size = s->first_ns < to->first_ns ? s->usual_size : to->usual_size;
	to->thread = 0;
	rec_stack_add(to, s);
}

/** What is suppressed, by its new rows. `row`: per node, its stack + 1. */
static bool suppressed_by_node(const struct recording *r, const uint32_t *row, struct arena *arena,
		struct recording *out) {
	uint32_t n = 0;
	out->suppressed.items = arena_new(arena, struct rec_suppressed, out->stacks.n);
	struct rec_suppressed *items = out->suppressed.items;
	if (!items) {
		return false;
	}
	for (uint32_t i = 0; i < r->suppressed.n; i++) {
		const struct rec_suppressed *v = &r->suppressed.items[i];
		uint32_t stack = row[r->stacks.items[v->stack].node] - 1;
		items[stack].blocks += v->blocks;
		items[stack].bytes += v->bytes;
	}
	for (uint32_t i = 0; i < out->stacks.n; i++) {
		if (items[i].blocks) {
			items[n++] = (struct rec_suppressed){i, items[i].blocks, items[i].bytes};
		}
	}
	out->suppressed.n = n;
	qsort(items, n, sizeof *items, suppressed_heaviest_first);
	return true;
}

bool recording_by_node(const struct recording *r, struct arena *arena, struct recording *out,
		struct err *err) {
	uint32_t *row = arena_new(arena, uint32_t, r->nodes.n); // + 1
	struct rec_stack *stacks = arena_new(arena, struct rec_stack, r->stacks.n);
	if (!row || !stacks) {
		return err_memory(err);
	}
	uint32_t n = 0;
	for (uint32_t i = 0; i < r->stacks.n; i++) {
		const struct rec_stack *s = &r->stacks.items[i];
		if (row[s->node]) {
			add_stack(&stacks[row[s->node] - 1], s);
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
	bool ok = r->suppressed.n == 0 || suppressed_by_node(r, row, arena, out);
	return ok || err_memory(err);
}
