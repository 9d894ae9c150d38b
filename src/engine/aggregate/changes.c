// SPDX-License-Identifier: MIT
/*
 * Applies to each stack what the first loop, pair.c, wrote down. What an event means for
 * its stack does not depend on other stacks, so it can wait until the stack's cache lines, which
 * the first loop asked for, have come.
 */
#include "engine/aggregate/state.h"

static inline void count_birth(struct aggregate *a, struct stack *s, const struct change *c) {
	s->allocations++;
	s->allocated_bytes += c->size;
	s->last = c->time;
	if (!size_is_usual(s, c->size)) {
		sizes_count(&a->sizes, s, c->stack, c->size);
	}
}

static inline void count_life(struct aggregate *a, struct stack *s, const struct change *c,
		uint64_t life_ns) {
	stacks_count_life(&a->stacks, c->stack, lifetime_class(life_ns));
	if (c->flags & CHANGE_SHORT_LIVED) {
		bool is_temporary = c->flags & CHANGE_TEMPORARY;
		s->short_lived++;
		s->temporary += is_temporary;
		s->temporary_bytes += is_temporary ? c->size : 0;
	}
}

static inline void log_end(struct aggregate *a, struct stack *s, const struct change *c) {
	bins_log(&a->bins, &s->log_hint, c->stack, c->from, c->size, c->flags & CHANGE_TEMPORARY);
}

static inline void apply_alloc(struct aggregate *a, struct stack *s, const struct change *c) {
	s->live_bytes += c->size;
	s->live_blocks++;
	count_birth(a, s, c);
	if (UNLIKELY(c->flags & CHANGE_REALLOC)) {
		s->reallocs++;
	}
}

static inline void apply_end(struct aggregate *a, struct stack *s, const struct change *c) {
	s->live_bytes -= c->size;
	s->live_blocks--;
	log_end(a, s, c);
	if (LIKELY(!(c->flags & CHANGE_GONE))) {
		count_life(a, s, c, c->time);
	}
}

enum { AHEAD = 8 }; // changes before its turn, what the stack's line tells of is asked for

/** The last item that the stack logged. In line, or gcc drops it. */
static ATTR_INLINE void fetch_ahead(const struct aggregate *a, const struct change *c) {
	if (!(c->flags & CHANGE_ALLOC)) {
		__builtin_prefetch(&a->bins.log[a->stacks.items[c->stack].log_hint], 1);
	}
}

void apply_changes(struct aggregate *a) {
	for (size_t i = 0; i < a->n_changes; i++) {
		const struct change *c = &a->changes[i];
		if (i + AHEAD < a->n_changes) {
			fetch_ahead(a, c + AHEAD);
		}
		struct stack *s = &a->stacks.items[c->stack];
		if (c->epoch) {
			stack_keep_peak(s, c->epoch);
		}
		if (c->flags & CHANGE_ALLOC) {
			apply_alloc(a, s, c);
		} else if (c->flags & CHANGE_PASSING) {
			count_birth(a, s, c);
			log_end(a, s, c);
			count_life(a, s, c, c->life);
		} else {
			apply_end(a, s, c);
		}
		if (c->flags & CHANGE_MOVES_EDGE) {
			bins_settle(&a->bins);
		}
	}
	a->n_changes = 0;
}
