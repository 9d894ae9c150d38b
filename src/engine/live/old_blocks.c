// SPDX-License-Identifier: MIT
/* Looks up frees of blocks that existed before the attach. */
#include "engine/live/blocks.h"

enum { UNKNOWN_MAX = 1 << 22 };

bool old_blocks_free(struct old_blocks *o, uint64_t ptr) {
	if (o->is_waiting) {
		uint64_t *item = o->unknown.n < UNKNOWN_MAX ? vec_push(&o->unknown) : NULL;
		if (item) {
			*item = ptr;
		}
		return false;
	}
	size_t i = sorted_first(o->ptrs, o->n, ptr);
	if (i == o->n || o->ptrs[i] != ptr || o->sizes[i] == 0) {
		return false;
	}
	o->n_freed++;
	o->freed_bytes += o->sizes[i];
	o->sizes[i] = 0;
	return true;
}

uint64_t old_blocks_take(struct old_blocks *o, uint64_t *ptrs, uint64_t *sizes, size_t n) {
	uint64_t n_explained = 0;
	o->is_waiting = false;
	o->ptrs = ptrs;
	o->sizes = sizes;
	o->n = n;
	for (size_t i = 0; i < n; i++) {
		o->all_bytes += sizes[i];
	}
	for (size_t i = 0; i < o->unknown.n; i++) {
		n_explained += old_blocks_free(o, o->unknown.items[i]);
	}
	vec_finish(&o->unknown);
	return n_explained;
}

void old_blocks_finish(struct old_blocks *o) {
	vec_finish(&o->unknown);
	free(o->ptrs);
	free(o->sizes);
	*o = (struct old_blocks){0};
}
