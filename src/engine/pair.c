// SPDX-License-Identifier: MIT

/**
 * The first loop. It follows what depends on the order of events: addresses, blocks, threads, the
 * total with its peak and the running edge. What an event means for its stack it writes down.
 */

#include "engine/state.h"

/** The thread of an event. Events come in runs of one thread: it is looked up when it changes. */
struct actor {
	uint32_t thread;
	struct thread_id *id;
	struct thread_record *record;
};

static struct actor actor_of(struct aggregate *a, uint32_t thread) {
	return (struct actor){
			.thread = thread,
			.id = &a->threads.ids.items[thread],
			.record = thread_record_of(&a->threads, thread),
	};
}

static inline struct change *new_change(struct aggregate *a, struct change change) {
	struct change *c = &a->changes[a->n_changes++];
	*c = change;
	const struct stack *s = &a->stacks.items[change.stack];
	__builtin_prefetch(s, 1);
	return c;
}

/** The block leaves the total and its thread's. It has no address any more. */
static inline void leave(struct aggregate *a, uint32_t number, struct thread_record *owner,
		unsigned flags) {
	struct block *b = &a->blocks.items[number];
	a->sum.live_bytes -= b->size;
	a->sum.live_blocks--;
	a->is_epoch_used = true;
	thread_keep_peak(owner, a->epoch);
	owner->live_bytes -= b->size;
	new_change(a,
			(struct change){
					.size = b->size,
					.time = a->moment - b->birth,
					.stack = b->stack,
					.epoch = a->epoch,
					.from = (uint16_t)bins_edge_after(&a->bins, b->birth),
					.flags = (uint8_t)flags,
			});
	__builtin_prefetch(a->stacks.items[b->stack].lifetimes, 1);
	if (a->has_numbers) {
		block_pool_release(&a->blocks, number);
	} else {
		block_pool_give(&a->blocks, number);
	}
}

/** KDE's rule for a block that is freed: aggregate_follow_kde. */
static bool is_temporary_for_kde(struct aggregate *a, const struct block *b, unsigned flags) {
	if (a->is_told_temporary) {
		return flags & CHANGE_TEMPORARY;
	}
	bool is_temporary = a->last.stack == b->stack && a->last.size == b->size;
	a->last = a->first;
	return is_temporary;
}

/** A block is freed that has no address any more. flags: 0, CHANGE_REALLOC, or what we are told. */
static inline void end_block(struct aggregate *a, uint32_t number, const struct actor *by,
		unsigned flags) {
	const struct block *b = &a->blocks.items[number];
	struct thread_record *owner = by->record;
	uint64_t allocations = by->id->allocations;
	if (UNLIKELY(b->thread != by->thread)) {
		owner = thread_record_of(&a->threads, b->thread);
		owner->foreign_frees++;
		allocations = a->threads.ids.items[b->thread].allocations;
		handovers_count(&a->threads, b->thread, by->thread, b->size);
	}
	uint64_t further = allocations - b->number;
	bool is_temporary = further == 0 && !flags;
	bool is_short_lived = further <= SHORT_LIVED_NUMBER || a->moment - b->birth <= SHORT_LIVED_NS;
	if (UNLIKELY(a->follows_kde)) {
		is_temporary = is_temporary_for_kde(a, b, flags);
		is_short_lived = is_temporary || further <= SHORT_LIVED_NUMBER;
	}
	a->sum.temporary += is_temporary;
	a->sum.short_lived += is_short_lived;
	owner->temporary += is_temporary;
	by->record->frees++;
	leave(a, number, owner,
			flags | (is_temporary ? CHANGE_TEMPORARY : 0) |
					(is_short_lived ? CHANGE_SHORT_LIVED : 0));
}

/** The epoch in which a stack must keep what it holds, before a change to a total of `live`. */
static inline uint32_t epoch_of_growth(struct aggregate *a, uint64_t live) {
	if (live > a->sum.peak_bytes) {
		return 0;
	}
	a->is_epoch_used = true;
	return a->epoch;
}

/** The number of a block that is born at `ptr`; one that is still there ends. */
static inline uint32_t number_for(struct aggregate *a, uint64_t ptr, const struct actor *by) {
	uint32_t number, replaced;
	if (a->has_numbers) {
		number = block_pool_claim(&a->blocks, ptr);
		replaced = block_pool_has(&a->blocks, number) ? number : BLOCK_NONE;
	} else {
		number = block_pool_take(&a->blocks);
		replaced = shadow_put(&a->shadow, ptr, number);
	}
	if (UNLIKELY(replaced != BLOCK_NONE)) {
		a->quality.double_allocations++;
		end_block(a, replaced, by, 0);
	}
	return number;
}

/** The block at `ptr`, which has that address no more; or BLOCK_NONE. */
static inline uint32_t take_block(struct aggregate *a, uint64_t ptr) {
	if (a->has_numbers) {
		return block_pool_has(&a->blocks, ptr) ? (uint32_t)ptr : BLOCK_NONE;
	}
	return shadow_take(&a->shadow, ptr);
}

/** A block is born; shadow_reserve made room for it. flags: 0 or CHANGE_REALLOC. */
static inline void start_block(struct aggregate *a, const struct trace_event *e, uint32_t stack,
		const struct actor *by, unsigned flags) {
	uint32_t number = number_for(a, e->ptr, by);
	if (UNLIKELY(a->follows_kde)) {
		a->last = (struct kind_of_block){e->size, stack};
		a->first = a->sum.allocations ? a->first : a->last;
	}
	a->sum.live_bytes += e->size;
	a->sum.live_blocks++;
	a->sum.allocations++;
	a->sum.allocated_bytes += e->size;
	uint32_t epoch = epoch_of_growth(a, a->sum.live_bytes);
	if (epoch) {
		thread_keep_peak(by->record, epoch);
	}
	by->record->live_bytes += e->size;
	by->record->allocated_bytes += e->size;
	a->blocks.items[number] = (struct block){
			.size = e->size,
			.birth = a->moment,
			.number = ++by->id->allocations,
			.stack = stack,
			.thread = by->thread,
	};
	new_change(a,
			(struct change){
					.size = e->size,
					.time = a->moment,
					.stack = stack,
					.epoch = epoch,
					.flags = (uint8_t)(CHANGE_ALLOC | flags),
			});
}

/** At an event's end: is the total higher or lower than ever in this period, or ever? */
static inline void look_at_total(struct aggregate *a) {
	uint64_t live = a->sum.live_bytes;
	struct rec_edge *point = &a->bins.point;
	if (live <= point->bytes) {
		point->min_bytes = live < point->min_bytes ? live : point->min_bytes;
		return;
	}
	if (!bins_rise(&a->bins,
				&(struct rec_edge){
						.time_ns = a->moment,
						.bytes = live,
						.blocks = a->sum.live_blocks,
						.allocations = a->sum.allocations,
						.allocated_bytes = a->sum.allocated_bytes,
						.temporary = a->sum.temporary,
				})) {
		return;
	}
	a->changes[a->n_changes - 1].flags |= CHANGE_MOVES_EDGE;
	if (live > a->sum.peak_bytes) {
		a->sum.peak_bytes = live;
		a->sum.peak_blocks = a->sum.live_blocks;
		a->sum.peak_time_ns = a->moment;
		a->epoch += a->is_epoch_used;
		a->is_epoch_used = false;
	}
}

/** A block that was never seen is freed: one from before, or by means that nobody knows. */
static void on_unknown(struct aggregate *a, uint64_t ptr) {
	a->quality.unknown_frees += !old_blocks_free(&a->old, ptr);
}

static void on_moved(struct aggregate *a, const struct trace_event *e, uint32_t stack,
		const struct actor *by) {
	struct pending p = {0};
	(void)pendings_pop(&a->pendings, &by->id->pending, &p);
	if (p.block != BLOCK_NONE) {
		end_block(a, p.block, by, CHANGE_REALLOC);
	} else {
		on_unknown(a, p.ptr);
	}
	start_block(a, e, stack, by, CHANGE_REALLOC);
	// Only now: the reserved leaf of the new block may be that of the old one
	if (p.block != BLOCK_NONE) {
		shadow_release(&a->shadow, p.ptr);
	}
}

bool pair_give_back(struct aggregate *a, const struct pending *p) {
	if (p->block != BLOCK_NONE) {
		if (shadow_at(&a->shadow, p->ptr) != BLOCK_NONE) {
			return false;
		}
		(void)shadow_put(&a->shadow, p->ptr, p->block);
		shadow_release(&a->shadow, p->ptr);
	}
	return true;
}

static void on_stayed(struct aggregate *a, const struct actor *by) {
	struct pending p;
	if (pendings_pop(&a->pendings, &by->id->pending, &p) && !pair_give_back(a, &p)) {
		a->quality.double_allocations++;
		end_block(a, p.block, by, 0);
		shadow_release(&a->shadow, p.ptr);
	}
}

/** What is neither a plain allocation nor a plain free. */
static void on_realloc(struct aggregate *a, const struct trace_event *e, uint32_t stack,
		const struct actor *by) {
	if (e->kind == TRACE_REALLOC) {
		uint32_t block = shadow_hold(&a->shadow, e->ptr);
		pendings_push(&a->pendings, &by->id->pending,
				(struct pending){.ptr = e->ptr, .thread = by->thread, .block = block});
	} else if (e->kind == TRACE_MOVED) {
		on_moved(a, e, stack, by);
	} else if (e->kind == TRACE_STAYED) {
		on_stayed(a, by);
	}
}

static inline void on_free(struct aggregate *a, const struct trace_event *e,
		const struct actor *by) {
	uint32_t block = take_block(a, e->ptr);
	if (UNLIKELY(block == BLOCK_NONE)) {
		on_unknown(a, e->ptr);
		return;
	}
	end_block(a, block, by, UNLIKELY(a->is_told_temporary) && e->size ? CHANGE_TEMPORARY : 0);
}

// How many events before its turn an event's lines are asked for: first its slot, then what that names
enum { AHEAD_SLOT = 24, AHEAD_BLOCK = 12 };

/**
 * The cache lines of events to come. In line: gcc takes a function that does nothing but fetch for one
 * without effect, and drops it.
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

static ATTR_INLINE void fetch_ahead(const struct aggregate *a, const struct trace_event *e,
		size_t n) {
	if (a->has_numbers) {
		if (n > AHEAD_BLOCK) {
			__builtin_prefetch(&a->blocks.items[e[AHEAD_BLOCK].ptr & UINT32_MAX], 1);
			stacks_fetch(&a->stacks, e[AHEAD_BLOCK].node);
		}
		return;
	}
	if (n > AHEAD_SLOT) {
		fetch_slot(a, e + AHEAD_SLOT);
	}
	if (n > AHEAD_BLOCK) {
		fetch_block(a, e + AHEAD_BLOCK);
	}
}

/** Events of ids that were never given are of no thread. */
static inline uint32_t thread_of_event(const struct aggregate *a, const struct trace_event *e) {
	return e->thread < a->threads.ids.n ? e->thread : THREAD_NONE;
}

/** Room for a new block, and its stack; STACK_NONE: out of memory. */
static inline uint32_t stack_for(struct aggregate *a, const struct trace_event *e,
		uint64_t moment) {
	return LIKELY(a->has_numbers || shadow_reserve(&a->shadow, e->ptr))
			? stacks_at(&a->stacks, e->node, thread_of_event(a, e), e->size, moment)
			: STACK_NONE;
}

/** False: out of memory, nothing changed. `by`: the thread of the event before. */
static inline bool digest(struct aggregate *a, const struct trace_event *e, uint64_t moment,
		struct actor *by) {
	uint32_t stack = STACK_NONE;
	if (e->kind == TRACE_ALLOC || e->kind == TRACE_MOVED) {
		stack = stack_for(a, e, moment);
		if (UNLIKELY(stack == STACK_NONE)) {
			return false;
		}
	}
	start_event(a, e->time_ns, moment);
	if (e->thread != by->thread) {
		*by = actor_of(a, thread_of_event(a, e));
	}
	if (e->kind == TRACE_ALLOC) {
		start_block(a, e, stack, by, 0);
	} else if (e->kind == TRACE_FREE) {
		on_free(a, e, by);
	} else {
		on_realloc(a, e, stack, by);
	}
	look_at_total(a);
	return true;
}

size_t pair_events(struct aggregate *a, const struct trace_event *events, size_t n, bool *ok) {
	struct actor by = actor_of(a, THREAD_NONE);
	size_t i = 0;
	*ok = true;
	for (; i < n && i < BATCH; i++) {
		fetch_ahead(a, &events[i], n - i);
		uint64_t moment = next_moment(a, events[i].time_ns);
		if (moment >= a->bins.curve_end) {
			break;
		}
		if (UNLIKELY(!digest(a, &events[i], moment, &by))) {
			*ok = false;
			break;
		}
	}
	a->n_events += i;
	return i;
}

void pair_gone(struct aggregate *a, uint32_t number) {
	const struct block *b = &a->blocks.items[number];
	a->sum.gone_at_exec++;
	a->sum.gone_at_exec_bytes += b->size;
	leave(a, number, thread_record_of(&a->threads, b->thread), CHANGE_GONE);
	look_at_total(a);
}
