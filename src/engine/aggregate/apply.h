// SPDX-License-Identifier: MIT
#pragma once
/** What an event means for its stack. Requires room from bins_reserve, sizes_reserve and others. */

#include "engine/aggregate/state.h"

static ATTR_INLINE void count_birth(struct aggregate *a, struct stack *s, uint32_t stack,
		uint64_t size, uint64_t moment) {
	s->allocations++;
	s->allocated_bytes += size;
	s->last = moment;
	if (!size_is_usual(s, size)) {
		sizes_count(&a->sizes, s, stack, size);
	}
}

/** `birth`: when the block was allocated, `life_ns` before its end. */
static ATTR_INLINE void count_end(struct aggregate *a, struct stack *s, uint32_t stack,
		uint64_t size, uint64_t birth, uint64_t life_ns, unsigned flags) {
	bool is_temporary = flags & END_TEMPORARY;
	bins_log(&a->bins, &s->log_hint, stack, bins_edge_after(&a->bins, birth), size, is_temporary);
	if (UNLIKELY(flags & END_GONE)) {
		return;
	}
	stacks_count_life(&a->stacks, stack, lifetime_class(life_ns));
	if (flags & END_SHORT_LIVED) {
		s->short_lived++;
		s->temporary += is_temporary;
		s->temporary_bytes += is_temporary ? size : 0;
	}
}

/** An allocation. `epoch`: of the peak before it; 0: this is a new peak, keep nothing. */
static ATTR_INLINE void apply_birth(struct aggregate *a, uint32_t stack, uint64_t size,
		uint64_t moment, uint32_t epoch) {
	struct stack *s = &a->stacks.items[stack];
	if (epoch) {
		stack_keep_peak(s, epoch);
	}
	s->live_bytes += size;
	s->live_blocks++;
	count_birth(a, s, stack, size, moment);
}

static ATTR_INLINE void apply_end(struct aggregate *a, const struct block *b, uint64_t moment,
		uint32_t epoch, unsigned flags) {
	struct stack *s = &a->stacks.items[b->stack];
	stack_keep_peak(s, epoch);
	s->live_bytes -= b->size;
	s->live_blocks--;
	count_end(a, s, b->stack, b->size, b->birth, moment - b->birth, flags);
}

/** A block that is freed as soon as it is allocated. */
static ATTR_INLINE void apply_passing(struct aggregate *a, uint32_t stack, uint64_t size,
		uint64_t birth, uint64_t life_ns, uint32_t epoch) {
	struct stack *s = &a->stacks.items[stack];
	stack_keep_peak(s, epoch);
	count_birth(a, s, stack, size, birth);
	count_end(a, s, stack, size, birth, life_ns, END_TEMPORARY | END_SHORT_LIVED);
}
