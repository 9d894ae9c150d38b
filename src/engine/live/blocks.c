// SPDX-License-Identifier: MIT
/* Grows the pool of live blocks and the shadow, and looks up frees of blocks from before. */
#include "engine/live/blocks.h"

#include "sys/pages.h"

void block_pool_reserve(struct block_pool *b, uint32_t more) {
	size_t need = (size_t)(b->n ? b->n : 1) + more;
	if (need > BLOCK_UNUSED) {
		(void)memory_lacks();
	}
	pages_reserve((void **)&b->items, &b->capacity, need, sizeof *b->items);
	pages_reserve((void **)&b->unused, &b->unused_capacity, BLOCKS_AHEAD + need, sizeof *b->unused);
	if (b->n == 0) {
		b->items[BLOCK_NONE].stack = BLOCK_UNUSED;
		b->n = 1;
	}
}

void block_pool_finish(struct block_pool *b) {
	pages_give(b->unused, b->unused_capacity * sizeof *b->unused);
	pages_give(b->items, b->capacity * sizeof *b->items);
	*b = (struct block_pool){0};
}

// ---- leaves of the shadow

enum { PAGE_BYTES = 4096 };

static size_t directory_bytes(void) {
	return SHADOW_DIRECTORY * sizeof(struct shadow_leaf *);
}

void shadow_init(struct shadow *s) {
	*s = (struct shadow){.directory = pages_take(directory_bytes()),
			.ever = pages_take(SHADOW_DIRECTORY)};
}

void shadow_finish(struct shadow *s) {
	for (size_t i = 0; i < s->leaves.n; i++) {
		pages_give(s->leaves.items[i], sizeof(struct shadow_leaf));
	}
	for (uint32_t i = 0; i < s->n_spares; i++) {
		pages_give(s->spares[i], sizeof(struct shadow_leaf));
	}
	vec_finish(&s->leaves);
	map_finish(&s->odd);
	pages_give(s->directory, directory_bytes());
	pages_give(s->ever, SHADOW_DIRECTORY);
	*s = (struct shadow){0};
}

void shadow_clear(struct shadow *s) {
	for (size_t i = 0; i < s->leaves.n; i++) {
		s->directory[s->leaves.items[i]->region] = NULL;
		pages_give(s->leaves.items[i], sizeof(struct shadow_leaf));
	}
	s->leaves.n = 0;
	pages_clear(s->ever, SHADOW_DIRECTORY);
	s->emptied = NULL;
	map_finish(&s->odd);
	s->n_odd_held = 0;
}

uint64_t shadow_bytes(const struct shadow *s) {
	uint64_t bytes = s->odd.capacity * sizeof(struct map_entry);
	// A page of the directory covers 2 GB of addresses; a used slot touches one page of its leaf
	bytes += (s->leaves.n + s->n_spares) * PAGE_BYTES;
	for (size_t i = 0; i < s->leaves.n; i++) {
		uint64_t touched = ((uint64_t)s->leaves.items[i]->n + 1) * PAGE_BYTES;
		bytes += touched < sizeof(struct shadow_leaf) ? touched : sizeof(struct shadow_leaf);
	}
	return bytes + s->n_spares * sizeof(struct shadow_leaf);
}

void shadow_add_leaf(struct shadow *s, uint64_t ptr) {
	struct shadow_leaf *leaf = s->n_spares ? s->spares[--s->n_spares]
										   : pages_take(sizeof(struct shadow_leaf));
	leaf->region = (uint32_t)(ptr >> SHADOW_LEAF_SHIFT);
	leaf->number = (uint32_t)s->leaves.n;
	(void)vec_add(&s->leaves, leaf);
	s->directory[leaf->region] = leaf;
	s->ever[leaf->region] = true;
}

static void drop_leaf(struct shadow *s, struct shadow_leaf *leaf) {
	struct shadow_leaf *last = s->leaves.items[--s->leaves.n];
	last->number = leaf->number;
	s->leaves.items[leaf->number] = last;
	s->directory[leaf->region] = NULL;
	if (s->n_spares < SHADOW_SPARES) {
		s->spares[s->n_spares++] = leaf;
	} else {
		pages_give(leaf, sizeof *leaf);
	}
}

void shadow_leaf_emptied(struct shadow *s, struct shadow_leaf *leaf) {
	struct shadow_leaf *before = s->emptied;
	s->emptied = leaf;
	if (before && before != leaf && before->n == 0) {
		drop_leaf(s, before);
	}
}

uint32_t shadow_at(const struct shadow *s, uint64_t ptr) {
	if (shadow_is_odd(ptr)) {
		return (uint32_t)map_get(&s->odd, ptr);
	}
	struct shadow_leaf *leaf = shadow_leaf_of(s, ptr);
	return leaf ? *shadow_slot_of(leaf, ptr) : BLOCK_NONE;
}

uint32_t shadow_hold(struct shadow *s, uint64_t ptr) {
	if (shadow_is_odd(ptr)) {
		uint32_t block = (uint32_t)map_take(&s->odd, ptr);
		s->n_odd_held += block != BLOCK_NONE;
		return block;
	}
	struct shadow_leaf *leaf = shadow_leaf_of(s, ptr);
	if (!leaf) {
		return BLOCK_NONE;
	}
	uint32_t *slot = shadow_slot_of(leaf, ptr);
	uint32_t block = *slot;
	*slot = BLOCK_NONE; // leaf->n still counts it
	return block;
}

void shadow_release(struct shadow *s, uint64_t ptr) {
	if (shadow_is_odd(ptr)) {
		s->n_odd_held--;
		return;
	}
	struct shadow_leaf *leaf = shadow_leaf_of(s, ptr);
	if (--leaf->n == 0) {
		shadow_leaf_emptied(s, leaf);
	}
}

// ---- frees of blocks from before the attach

enum { UNKNOWN_MAX = 1 << 22 };

bool old_blocks_free(struct old_blocks *o, uint64_t ptr) {
	if (o->is_waiting) {
		(void)(o->unknown.n < UNKNOWN_MAX && vec_add(&o->unknown, ptr));
		return false;
	}
	size_t i = sorted_first_of(o->items, o->n, sizeof *o->items, ptr);
	if (i == o->n || o->items[i].address != ptr || o->items[i].bytes == 0) {
		return false;
	}
	o->n_freed++;
	o->freed_bytes += o->items[i].bytes;
	o->items[i].bytes = 0;
	return true;
}

uint64_t old_blocks_take(struct old_blocks *o, struct extent *blocks, size_t n) {
	o->is_waiting = false;
	o->items = blocks;
	o->n = n;
	o->all_bytes += SUM(i, n, blocks[i].bytes);
	uint64_t n_explained = SUM(i, o->unknown.n, old_blocks_free(o, o->unknown.items[i]));
	vec_finish(&o->unknown);
	return n_explained;
}

void old_blocks_finish(struct old_blocks *o) {
	vec_finish(&o->unknown);
	free(o->items);
	*o = (struct old_blocks){0};
}
