// SPDX-License-Identifier: MIT
/* Lists the live blocks with their addresses, which only the shadow knows. */
#include "engine/aggregate/state.h"

ORDER_OF(by_region, struct shadow_leaf *const, compare_u64((*a)->region, (*b)->region));

struct listing {
	const struct aggregate *a;
	void (*visit)(void *user, uint64_t ptr, uint64_t bytes, uint32_t stack);
	void *user;
};

static void list_block(const struct listing *l, uint64_t ptr, uint32_t number) {
	const struct block *b = &l->a->blocks.items[number];
	l->visit(l->user, ptr, b->size, b->stack);
}

static void list_leaf(const struct listing *l, const struct shadow_leaf *leaf) {
	enum { AT_ONCE = 16 };
	uint64_t start = (uint64_t)leaf->region << SHADOW_LEAF_SHIFT;
	uint32_t left = leaf->n; // places on hold included
	for (uint32_t at = 0; left > 0 && at < SHADOW_LEAF_SLOTS; at += AT_ONCE) {
		uint32_t any = 0;
		for (uint32_t i = at; i < at + AT_ONCE; i++) {
			any |= leaf->slots[i];
		}
		for (uint32_t i = at; any && i < at + AT_ONCE; i++) {
			if (leaf->slots[i] != BLOCK_NONE) {
				left--;
				list_block(l, start + (uint64_t)i * 16, leaf->slots[i]);
			}
		}
	}
}

uint32_t aggregate_stack(struct aggregate *a, uint32_t node) {
	return stacks_at(&a->stacks, node, 0, 0, 0);
}

uint32_t aggregate_node(const struct aggregate *a, uint32_t stack) {
	return a->stacks.items[stack].node;
}

void aggregate_live(const struct aggregate *a,
		void (*visit)(void *user, uint64_t ptr, uint64_t bytes, uint32_t stack), void *user) {
	const struct listing l = {a, visit, user};
	size_t n = a->shadow.leaves.n;
	FREED struct shadow_leaf **leaves = memory_new(n, sizeof *leaves);
	if (n > 0) {
		memcpy(leaves, a->shadow.leaves.items, n * sizeof *leaves);
		qsort(leaves, n, sizeof *leaves, by_region);
	}
	EACH_OF(leaf, leaves, n) {
		list_leaf(&l, *leaf);
	}
	EACH_OF_THAT(e, a->shadow.odd.entries, a->shadow.odd.capacity, e->value != BLOCK_NONE) {
		list_block(&l, e->key, (uint32_t)e->value);
	}
	EACH_OF_THAT(old, a->old.items, a->old.n, old->bytes > 0) {
		visit(user, old->address, old->bytes, STACK_NONE);
	}
}

bool aggregate_has(const struct aggregate *a, uint64_t ptr, uint64_t bytes, uint32_t stack) {
	uint32_t number = shadow_at(&a->shadow, ptr);
	const struct block *b = &a->blocks.items[number];
	return number != BLOCK_NONE && b->size == bytes && b->stack == stack;
}

bool aggregate_ever_had(const struct aggregate *a, uint64_t start, uint64_t end) {
	uint64_t to = end - 1;
	to = to < ((uint64_t)1 << 47) ? to : ((uint64_t)1 << 47) - 1;
	uint64_t first = start >> SHADOW_LEAF_SHIFT, behind = (to >> SHADOW_LEAF_SHIFT) + 1;
	return first < behind && ANY(i, behind - first, a->shadow.ever[first + i]);
}
