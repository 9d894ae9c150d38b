// SPDX-License-Identifier: MIT
#pragma once
/**
 * Holds the counters that nearly every event changes for the duration of a batch. They are fields
 * of a small struct on the stack, to which nothing else stores, as the compiler can see.
 */

#include "engine/aggregate/state.h"

/**
 * The heap's totals as of the last event, and whose events they are. a->sum has those of the last
 * tally_put; the difference is this thread's alone, so its totals follow from the heap's.
 */
struct tally {
	uint64_t label, moment;
	uint64_t live_bytes, allocations, allocated_bytes, temporary, short_lived, peak_bytes;
	uint64_t ended, frees; // the thread's blocks that ended, and its frees, since tally_put
	// The running point's extremes; point_bytes is at most the watched total
	uint64_t point_bytes, point_min_bytes;
	uint64_t number_offset; // a block's number within its thread - within all
	struct thread_id *id;
	struct thread_record *record;
	uint32_t epoch;
	uint32_t thread;
	uint32_t owner;                // of its stacks
	bool has_numbers, follows_kde; // the aggregate's, as constants for the compiler
	bool is_kept;                  // the thread's value at the peak was kept
	bool is_rising;                // the last event set a new maximum: settle_rise
};

/** The next events are this thread's. */
static ATTR_INLINE void tally_thread(struct aggregate *a, struct tally *t, uint32_t thread) {
	t->thread = thread;
	t->owner = stacks_owner(&a->stacks, thread);
	t->id = &a->threads.ids.items[thread];
	t->record = thread_record_of(&a->threads, thread);
	t->number_offset = t->id->allocations - a->sum.allocations;
	t->is_kept = a->is_epoch_used && t->record->epoch == t->epoch;
}

/** Start from the aggregate's totals. `thread`: whose events follow. */
static ATTR_INLINE struct tally tally_take(struct aggregate *a, uint32_t thread) {
	struct tally t = {
			FIELDS_OF(a, label, moment, epoch, has_numbers, follows_kde),
			FIELDS_OF(&a->sum, live_bytes, allocations, allocated_bytes, temporary, short_lived,
					peak_bytes),
			.point_bytes = a->bins.point.bytes < a->watched_bytes ? a->bins.point.bytes
																  : a->watched_bytes,
			.point_min_bytes = a->bins.point.min_bytes,
	};
	tally_thread(a, &t, thread);
	return t;
}

/** Bring the aggregate and the thread up to date. */
static ATTR_INLINE void tally_put(struct aggregate *a, struct tally *t) {
	uint64_t n_new = t->allocations - a->sum.allocations;
	t->record->live_bytes += t->live_bytes - a->sum.live_bytes;
	t->record->allocated_bytes += t->allocated_bytes - a->sum.allocated_bytes;
	t->record->temporary += t->temporary - a->sum.temporary;
	t->record->frees += t->frees;
	t->id->allocations += n_new;
	a->sum.live_blocks += n_new - t->ended;
	COPY_FIELDS(a, t, label, moment);
	COPY_FIELDS(&a->sum, t, live_bytes, allocations, allocated_bytes, temporary, short_lived);
	a->bins.point.min_bytes = t->point_min_bytes;
	t->ended = t->frees = 0;
}

/** The next events are another thread's. */
static ATTR_INLINE void tally_change_thread(struct aggregate *a, struct tally *t, uint32_t thread) {
	tally_put(a, t);
	tally_thread(a, t, thread);
}

/** The last event set the point's maximum, maybe the edge or the peak. Once per run of rises. */
static ATTR_INLINE void settle_rise(struct aggregate *a, struct tally *t) {
	t->is_rising = false;
	t->point_bytes = t->live_bytes;
	a->watched_bytes = t->live_bytes > a->watched_bytes ? t->live_bytes : a->watched_bytes;
	if (UNLIKELY(t->live_bytes <= a->bins.point.bytes)) {
		return; // only the watched total rose
	}
	uint64_t n_blocks = a->sum.live_blocks + t->allocations - a->sum.allocations - t->ended;
	if (!bins_rise(&a->bins,
				&(struct rec_edge){
						.time_ns = t->moment,
						.bytes = t->live_bytes,
						.blocks = n_blocks,
						FIELDS_OF(t, allocations, allocated_bytes, temporary),
				})) {
		return;
	}
	bins_settle(&a->bins);
	if (t->live_bytes > t->peak_bytes) {
		t->peak_bytes = a->sum.peak_bytes = t->live_bytes;
		a->sum.peak_blocks = n_blocks;
		a->sum.peak_time_ns = t->moment;
		if (a->is_epoch_used) {
			t->epoch = ++a->epoch;
			t->is_kept = a->is_epoch_used = false;
		}
	}
}

/** Call before totals change without a new peak. */
static ATTR_INLINE void keep_peak(struct aggregate *a, struct tally *t) {
	if (UNLIKELY(!t->is_kept)) {
		t->is_kept = a->is_epoch_used = true;
		if (t->record->epoch != t->epoch) {
			t->record->epoch = t->epoch;
			t->record->peak_bytes = t->record->live_bytes + t->live_bytes - a->sum.live_bytes;
		}
	}
}

// ---- prefetching
//
// The cache lines that coming events will touch: of the block at each address, and of the block and
// the stack it leads to.

// How many events ahead to fetch: an event's slot, then the block that it names, then its stack
enum { AHEAD_SLOT = 24, AHEAD_BLOCK = 12, AHEAD_STACK = 6 };

/** The slot for the block at `ptr`; NULL: its leaf does not exist. */
static ATTR_INLINE uint32_t *slot_of(const struct aggregate *a, uint64_t ptr) {
	struct shadow_leaf *leaf = LIKELY(!shadow_is_odd(ptr)) ? shadow_leaf_of(&a->shadow, ptr) : NULL;
	return LIKELY(leaf) ? shadow_slot_of(leaf, ptr) : NULL;
}

/** Inline: gcc takes a function that only prefetches for one without effect, and drops it. */
static ATTR_INLINE void fetch_slot(const struct aggregate *a, const struct trace_event *e) {
	const uint32_t *slot = slot_of(a, e->ptr);
	if (slot) {
		__builtin_prefetch(slot, 1);
	}
}

static ATTR_INLINE void fetch_block(const struct aggregate *a, const struct trace_event *e) {
	if (e->kind == TRACE_ALLOC) {
		stacks_fetch(&a->stacks, e->node);
		return;
	}
	const uint32_t *slot = slot_of(a, e->ptr);
	if (slot) {
		__builtin_prefetch(&a->blocks.items[*slot], 1);
	}
}

/** The stack of a block that is freed. */
static ATTR_INLINE void fetch_stack(const struct aggregate *a, uint32_t number) {
	uint32_t stack = a->blocks.items[number].stack;
	if (stack != BLOCK_UNUSED) {
		__builtin_prefetch(&a->stacks.items[stack], 1);
		__builtin_prefetch(a->stacks.items[stack].lifetimes, 1);
	}
}

/** Prefetch for the events after `e`; all end at `end`. */
static ATTR_INLINE void fetch_ahead(const struct aggregate *a, const struct tally *t,
		const struct trace_event *e, const struct trace_event *end) {
	if (t->has_numbers) {
		if (e + AHEAD_BLOCK < end) {
			__builtin_prefetch(&a->blocks.items[e[AHEAD_BLOCK].ptr & UINT32_MAX], 1);
			stacks_fetch(&a->stacks, e[AHEAD_BLOCK].node);
		}
		if (e + AHEAD_STACK < end && e[AHEAD_STACK].ptr < a->blocks.n) {
			fetch_stack(a, (uint32_t)e[AHEAD_STACK].ptr);
		}
		return;
	}
	if (e + AHEAD_SLOT < end) {
		fetch_slot(a, e + AHEAD_SLOT);
	}
	if (e + AHEAD_BLOCK < end) {
		fetch_block(a, e + AHEAD_BLOCK);
	}
	if (e + AHEAD_STACK < end && e[AHEAD_STACK].kind != TRACE_ALLOC) {
		const uint32_t *slot = slot_of(a, e[AHEAD_STACK].ptr);
		if (slot) {
			fetch_stack(a, *slot);
		}
	}
}
