// SPDX-License-Identifier: MIT
#pragma once
/*
 * The cache lines that events to come will touch, asked for before their turn: of the block at each
 * address, and of the block and the stack that it leads to. Fetching changes nothing.
 */

#include "engine/aggregate/tally.h"

// How many events before its turn an event's lines are asked for: first its slot, then what that
// names
enum { AHEAD_SLOT = 24, AHEAD_BLOCK = 12 };

/**
 * The cache lines of events to come. In line: gcc takes a function that does nothing but fetch for
 * one without effect, and drops it.
 */
static ATTR_INLINE void fetch_slot(const struct aggregate *a, const struct trace_event *e) {
	struct shadow_leaf *leaf = shadow_is_odd(e->ptr) ? NULL : shadow_leaf_of(&a->shadow, e->ptr);
	if (leaf) {
		__builtin_prefetch(shadow_slot_of(leaf, e->ptr), 1);
	}
}

static ATTR_INLINE void fetch_block(const struct aggregate *a, const struct trace_event *e) {
	if (e->kind == TRACE_ALLOC) {
		stacks_fetch(&a->stacks, e->node);
	} else if (!shadow_is_odd(e->ptr)) {
		struct shadow_leaf *leaf = shadow_leaf_of(&a->shadow, e->ptr);
		if (leaf) {
			__builtin_prefetch(&a->blocks.items[*shadow_slot_of(leaf, e->ptr)], 1);
		}
	}
}

/** Those of the events after `e`, which is one of those before `end`. */
static ATTR_INLINE void fetch_ahead(const struct aggregate *a, const struct tally *t,
		const struct trace_event *e, const struct trace_event *end) {
	if (t->has_numbers) {
		if (e + AHEAD_BLOCK < end) {
			__builtin_prefetch(&a->blocks.items[e[AHEAD_BLOCK].ptr & UINT32_MAX], 1);
			stacks_fetch(&a->stacks, e[AHEAD_BLOCK].node);
		}
		return;
	}
	if (e + AHEAD_SLOT < end) {
		fetch_slot(a, e + AHEAD_SLOT);
	}
	if (e + AHEAD_BLOCK < end) {
		fetch_block(a, e + AHEAD_BLOCK);
	}
}
