// SPDX-License-Identifier: MIT
/* Counts sizes in a table of pairs of stack and size. */
#include "engine/costs/stacks.h"
#include "sys/pages.h"

static uint64_t hash_of(uint32_t stack, uint64_t size, uint32_t is_class) {
	return hash_u64(((uint64_t)stack << 1 | is_class) * 0xff51afd7ed558ccd ^ size);
}

static uint32_t find(const struct sizes *z, uint64_t hash, uint32_t stack, uint64_t size,
		uint32_t is_class) {
	return INDEX_FIND(&z->index, hash, i,
			z->items[i].size == size && z->items[i].stack == stack &&
					z->items[i].is_class == is_class);
}

static uint64_t class_of(uint64_t size) {
	return (uint64_t)1 << (63 - __builtin_clzll(size));
}

void sizes_reserve(struct sizes *z, uint32_t more) {
	pages_reserve((void **)&z->items, &z->capacity, (size_t)z->n + more, sizeof *z->items);
	(void)index_reserve(&z->index, more);
}

/** Where to count a size without an exact entry: in a new one, or in its class. */
static uint32_t at_new_size(struct sizes *z, struct stack *s, uint32_t stack, uint64_t size) {
	const bool is_class = size != 0 && s->n_sizes >= z->max_per_stack;
	const struct size_count c = {is_class ? class_of(size) : size, 0, 0, stack, is_class};
	const uint64_t hash = hash_of(stack, c.size, is_class);
	const uint32_t i = find(z, hash, stack, c.size, is_class);
	if (i != INDEX_NONE) {
		return i;
	}
	s->n_sizes += size != 0 && !is_class;
	z->items[z->n] = c;
	index_put(&z->index, hash, z->n);
	return z->n++;
}

void sizes_count(struct sizes *z, struct stack *s, uint32_t stack, uint64_t size) {
	uint32_t i = find(z, hash_of(stack, size, 0), stack, size, 0);
	if (UNLIKELY(i == INDEX_NONE)) {
		i = at_new_size(z, s, stack, size);
	}
	z->items[i].count++;
	z->items[i].bytes += size;
}

uint32_t sizes_find(const struct sizes *z, const struct stack *s, uint32_t stack, uint64_t size) {
	if (size_is_usual(s, size)) {
		return INDEX_NONE;
	}
	uint32_t i = find(z, hash_of(stack, size, 0), stack, size, 0);
	if (i == INDEX_NONE && size != 0) {
		uint64_t smallest = class_of(size);
		i = find(z, hash_of(stack, smallest, 1), stack, smallest, 1);
	}
	return i;
}

void sizes_finish(struct sizes *z) {
	pages_give(z->items, z->capacity * sizeof *z->items);
	index_finish(&z->index);
	*z = (struct sizes){0};
}

uint64_t sizes_bytes(const struct sizes *z) {
	return (uint64_t)z->n * sizeof *z->items + index_bytes(&z->index);
}
