// SPDX-License-Identifier: MIT
#pragma once
/**
 * How often a stack allocated each size. Most blocks have their stack's first size: those are not
 * counted here, but are what remains after the others. The first 64 sizes of a stack, and size 0,
 * are counted exactly, all later ones in the class of their highest bit.
 */

#include "engine/costs/stacks.h"

struct size_count {
	uint64_t size; // of a class: its smallest
	uint64_t count, bytes;
	uint32_t stack;
	uint32_t is_class;
};

struct sizes {
	struct size_count *items;
	size_t capacity;
	uint32_t n;
	uint32_t max_per_stack;
	struct index index;
};

/** Room for `more` new sizes. False: out of memory. */
bool sizes_reserve(struct sizes *z, uint32_t more);

/** Is this block one of those not counted here? */
static inline bool size_is_usual(const struct stack *s, uint64_t size) {
	return size == s->usual_size && LIKELY(size < UINT32_MAX);
}

/** One more allocation of an unusual size; sizes_reserve made room. */
void sizes_count(struct sizes *z, struct stack *s, uint32_t stack, uint64_t size);

/** Where blocks of this size are counted, or INDEX_NONE: they are usual, or there were none. */
uint32_t sizes_find(const struct sizes *z, const struct stack *s, uint32_t stack, uint64_t size);

void sizes_finish(struct sizes *z);
uint64_t sizes_bytes(const struct sizes *z);
