// SPDX-License-Identifier: MIT
#pragma once
/**
 * Holds the counters that nearly every event changes for the duration of a batch. They are fields
 * of a small struct on the stack, to which nothing else stores, as the compiler can see.
 */

#include "engine/aggregate/state.h"

/**
 * The heap's totals as of the last event, and whose events they are. a->sum has those of the last
 * tally_put: what lies between came from this one thread, so its own totals follow from the heap's.
 */
struct tally {
	uint64_t label, moment;
	uint64_t live_bytes, allocations, allocated_bytes, temporary, short_lived, peak_bytes;
	uint64_t ended, frees; // blocks of the thread, and frees by it, since tally_put
	// The running point's; of the highest, the one that is watched if that is lower
	uint64_t point_bytes, point_min_bytes;
	uint64_t number_offset; // a block's number among its thread's - its number among all
	struct thread_id *id;
	struct thread_record *record;
	uint32_t epoch;
	uint32_t thread;
	bool has_numbers, follows_kde; // the aggregate's: here the compiler knows what they are
	bool is_kept;                  // what the thread held at the peak
	bool is_rising;                // the last event made a new maximum: settle_rise
};

/** The next events are of this thread. */
static ATTR_INLINE void tally_thread(struct aggregate *a, struct tally *t, uint32_t thread) {
	t->thread = thread;
	t->id = &a->threads.ids.items[thread];
	t->record = thread_record_of(&a->threads, thread);
	t->number_offset = t->id->allocations - a->sum.allocations;
	t->is_kept = a->is_epoch_used && t->record->epoch == t->epoch;
}

/** What the aggregate has now. `thread`: whose events come. */
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

/** The events that follow are another thread's. */
static ATTR_INLINE void tally_change_thread(struct aggregate *a, struct tally *t, uint32_t thread) {
	tally_put(a, t);
	tally_thread(a, t, thread);
}

/**
 * The last event left the largest total of its point so far: of rises in a row, that is only
 * looked at after the last. Perhaps it is the period's edge, or the peak.
 */
static ATTR_INLINE void settle_rise(struct aggregate *a, struct tally *t) {
	t->is_rising = false;
	t->point_bytes = t->live_bytes;
	a->watched_bytes = t->live_bytes > a->watched_bytes ? t->live_bytes : a->watched_bytes;
	if (UNLIKELY(t->live_bytes <= a->bins.point.bytes)) {
		return; // that alone is higher
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

/** To be called before totals change without a new peak. */
static ATTR_INLINE void keep_peak(struct aggregate *a, struct tally *t) {
	if (UNLIKELY(!t->is_kept)) {
		t->is_kept = a->is_epoch_used = true;
		if (t->record->epoch != t->epoch) {
			t->record->epoch = t->epoch;
			t->record->peak_bytes = t->record->live_bytes + t->live_bytes - a->sum.live_bytes;
		}
	}
}

// ---- the cache lines that events to come will touch, asked for before their turn: of the block at
// each address, and of the block and the stack that it leads to
//
// Fetching changes nothing.

// How many events before its turn an event's lines are asked for: first its slot, then what that
// names, then what a block names
enum { AHEAD_SLOT = 24, AHEAD_BLOCK = 12, AHEAD_STACK = 6 };

/** Where the number of the block at `ptr` is noted; NULL: not in a leaf that is there. */
static ATTR_INLINE uint32_t *slot_of(const struct aggregate *a, uint64_t ptr) {
	struct shadow_leaf *leaf = LIKELY(!shadow_is_odd(ptr)) ? shadow_leaf_of(&a->shadow, ptr) : NULL;
	return LIKELY(leaf) ? shadow_slot_of(leaf, ptr) : NULL;
}

/**
 * The cache lines of events to come. In line: gcc takes a function that does nothing but fetch for
 * one without effect, and drops it.
 */
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

/** Of a block that is freed: its stack's. */
static ATTR_INLINE void fetch_stack(const struct aggregate *a, uint32_t number) {
	uint32_t stack = a->blocks.items[number].stack;
	if (stack != BLOCK_UNUSED) {
		__builtin_prefetch(&a->stacks.items[stack], 1);
		__builtin_prefetch(a->stacks.items[stack].lifetimes, 1);
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
