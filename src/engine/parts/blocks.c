// SPDX-License-Identifier: MIT
/* Lists an aggregate's live blocks so that each address belongs to at most one. */
#include "engine/costs/stacks.h"
#include "engine/parts/owners.h"

static void keep_block(void *user, uint64_t ptr, uint64_t bytes, uint32_t stack) {
	struct live_blocks *out = user;
	out->asked_bytes += bytes;
	out->n_stacks = stack != STACK_NONE && stack >= out->n_stacks ? stack + 1 : out->n_stacks;
	(void)vec_add(out, (struct live_block){ptr, bytes, stack});
}

void live_blocks_list(const struct aggregate *a, struct live_blocks *out) {
	aggregate_live(a, keep_block, out);
	struct live_block *all = out->items;
	if (ANY(i, out->n, i > 0 && all[i - 1].start > all[i].start)) {
		qsort(all, out->n, sizeof *all, by_number);
	}
	size_t n = 0;
	uint64_t end = 0;
	for (size_t i = 0; i < out->n; i++) {
		struct live_block b = all[i];
		uint64_t b_end = b.start + b.bytes;
		if (b.start >= end || b_end > end) {
			b.start = b.start > end ? b.start : end;
			b.bytes = b_end - b.start;
			all[n++] = b;
			end = b.start + (b.bytes ? b.bytes : 1);
		}
	}
	out->n = n;
}
