// SPDX-License-Identifier: MIT
#include "engine/by_node.h"

static void add_stack(struct rec_stack *to, const struct rec_stack *s) {
	if (s->first_ns < to->first_ns) {
		to->first_ns = s->first_ns;
		to->usual_size = s->usual_size;
	}
	to->last_ns = s->last_ns > to->last_ns ? s->last_ns : to->last_ns;
	to->thread = 0;
	to->allocations += s->allocations;
	to->allocated_bytes += s->allocated_bytes;
	to->temporary += s->temporary;
	to->temporary_bytes += s->temporary_bytes;
	to->short_lived += s->short_lived;
	to->peak_blocks += s->peak_blocks;
	to->peak_bytes += s->peak_bytes;
	to->live_blocks += s->live_blocks;
	to->live_bytes += s->live_bytes;
	to->reallocs += s->reallocs;
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
	out->sizes.n = 0;
	return true;
}
