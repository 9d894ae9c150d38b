// SPDX-License-Identifier: MIT
/*
 * Pairs frees with allocations, and follows what depends on the order of events: addresses, blocks,
 * threads, stacks, the total with its peak and the running edge. Nearly all events are plain: on
 * the same thread as the previous one, a new block at a free address from a known stack, or the end
 * of one of the thread's own blocks. These are handled inline, all others by a function that knows
 * every case. Both apply the same rules.
 */
#include "engine/aggregate/apply.h"
#include "engine/aggregate/tally.h"

// ---- blocks

/** One of the thread's blocks leaves the totals. It has no address any more. */
static ATTR_INLINE void leave(struct aggregate *a, struct tally *t, uint32_t number,
		unsigned flags) {
	const struct block *b = &a->blocks.items[number];
	keep_peak(a, t);
	t->live_bytes -= b->size;
	t->ended++;
	apply_end(a, b, t->moment, t->epoch, flags);
	block_pool_give(&a->blocks, number, t->has_numbers);
}

/** KDE's rule for a freed block: see aggregate_follow_kde. */
static bool is_temporary_for_kde(struct aggregate *a, const struct block *b, unsigned flags) {
	if (a->is_told_temporary) {
		return flags & END_TEMPORARY;
	}
	bool is_temporary = a->last.stack == b->stack && a->last.size == b->size;
	a->last = a->first;
	return is_temporary;
}

/** One of the thread's blocks is freed. flags: 0, END_REALLOC, or what the caller was told. */
static ATTR_INLINE void end_own_block(struct aggregate *a, struct tally *t, uint32_t number,
		unsigned flags) {
	const struct block *b = &a->blocks.items[number];
	uint64_t further = t->allocations + t->number_offset - b->number;
	bool is_temporary = further == 0 && !flags;
	bool is_short_lived = further <= SHORT_LIVED_NUMBER || t->moment - b->birth <= SHORT_LIVED_NS;
	if (UNLIKELY(t->follows_kde)) {
		is_temporary = is_temporary_for_kde(a, b, flags);
		is_short_lived = is_temporary || further <= SHORT_LIVED_NUMBER;
	}
	t->temporary += is_temporary;
	t->short_lived += is_short_lived;
	t->frees++;
	leave(a, t, number,
			flags | (is_temporary ? END_TEMPORARY : 0) | (is_short_lived ? END_SHORT_LIVED : 0));
}

/** Free a block. The heap's changes are also those of the thread that allocated it. */
static void end_block(struct aggregate *a, struct tally *t, uint32_t number, unsigned flags) {
	const struct block *b = &a->blocks.items[number];
	uint32_t by = t->thread;
	if (b->thread == by) {
		end_own_block(a, t, number, flags);
		return;
	}
	t->frees++;
	tally_change_thread(a, t, b->thread);
	t->record->foreign_frees++;
	handovers_count(&a->threads, b->thread, by, b->size);
	end_own_block(a, t, number, flags);
	t->frees--;
	tally_change_thread(a, t, by);
}

/** Allocate a block of this thread; its address is already set. */
static ATTR_INLINE void start_block(struct aggregate *a, struct tally *t,
		const struct trace_event *e, uint32_t number, uint32_t stack) {
	if (UNLIKELY(t->follows_kde)) {
		a->last = (struct kind_of_block){e->size, stack};
		a->first = t->allocations ? a->first : a->last;
	}
	uint32_t epoch = 0;
	if (t->live_bytes + e->size <= t->peak_bytes) {
		keep_peak(a, t);
		epoch = t->epoch;
	}
	t->live_bytes += e->size;
	t->allocations++;
	t->allocated_bytes += e->size;
	a->blocks.items[number] = (struct block){
			.size = e->size,
			.birth = t->moment,
			.number = t->allocations + t->number_offset,
			.stack = stack,
			.thread = t->thread,
	};
	apply_birth(a, stack, e->size, t->moment, epoch);
}

// ---- the general case

/** A number for a new block at `ptr`. Ends a block that is still there. */
static uint32_t number_for(struct aggregate *a, struct tally *t, uint64_t ptr) {
	uint32_t number, replaced;
	if (t->has_numbers) {
		number = block_pool_claim(&a->blocks, ptr);
		replaced = block_pool_has(&a->blocks, number) ? number : BLOCK_NONE;
	} else {
		number = block_pool_take(&a->blocks);
		replaced = shadow_put(&a->shadow, ptr, number);
	}
	if (UNLIKELY(replaced != BLOCK_NONE)) {
		a->quality.double_allocations++;
		end_block(a, t, replaced, 0);
	}
	return number;
}

/** A free of a block never seen: one from before the recording, or allocated by unknown means. */
static void on_unknown(struct aggregate *a, uint64_t ptr) {
	a->quality.unknown_frees += !old_blocks_free(&a->old, ptr);
}

static void on_free(struct aggregate *a, struct tally *t, const struct trace_event *e) {
	uint32_t number = !t->has_numbers            ? shadow_take(&a->shadow, e->ptr)
			: block_pool_has(&a->blocks, e->ptr) ? (uint32_t)e->ptr
												 : BLOCK_NONE;
	if (number == BLOCK_NONE) {
		on_unknown(a, e->ptr);
		return;
	}
	end_block(a, t, number, a->is_told_temporary && e->size ? END_TEMPORARY : 0);
}

static void on_moved(struct aggregate *a, struct tally *t, const struct trace_event *e,
		uint32_t stack) {
	struct pending p = {0};
	(void)pendings_pop(&a->pendings, &t->id->pending, &p);
	if (p.block != BLOCK_NONE) {
		end_block(a, t, p.block, END_REALLOC);
	} else {
		on_unknown(a, p.ptr);
	}
	start_block(a, t, e, number_for(a, t, e->ptr), stack);
	a->stacks.items[stack].reallocs++;
	// Only now: the new block's reserved leaf may be the old block's
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

static ATTR_INLINE void on_realloc(struct aggregate *a, const struct tally *t,
		const struct trace_event *e) {
	uint32_t block = shadow_hold(&a->shadow, e->ptr);
	pendings_push(&a->pendings, &t->id->pending,
			(struct pending){.ptr = e->ptr, .thread = t->thread, .block = block});
}

/**
 * A late answer, at a detach or the thread's end, says that nothing changed. If another block has
 * the address by now, the old one was moved: it is gone, and no free was missed.
 */
static void on_stayed(struct aggregate *a, struct tally *t) {
	struct pending p;
	if (pendings_pop(&a->pendings, &t->id->pending, &p) && !pair_give_back(a, &p)) {
		end_block(a, t, p.block, 0);
		shadow_release(&a->shadow, p.ptr);
	}
}

/** Events with unknown ids belong to no thread. */
static ATTR_INLINE uint32_t thread_of_event(const struct aggregate *a,
		const struct trace_event *e) {
	return e->thread < a->threads.ids.n ? e->thread : THREAD_NONE;
}

/** Reserve room for a new block, and find its stack. */
static uint32_t stack_for(struct aggregate *a, const struct tally *t, const struct trace_event *e,
		uint64_t moment) {
	if (!t->has_numbers) {
		shadow_reserve(&a->shadow, e->ptr);
	}
	return stacks_at(&a->stacks, e->node, t->owner, e->size, moment);
}

static ATTR_INLINE void start_event(struct aggregate *a, struct tally *t, uint64_t label,
		uint64_t moment) {
	if (UNLIKELY(label < t->label)) {
		a->quality.time_corrections++;
	} else {
		t->label = label;
	}
	t->moment = moment;
}

/** At an event's end: is the total higher or lower than ever in this point? */
static ATTR_INLINE void look_at_total(struct tally *t) {
	t->is_rising = t->live_bytes > t->point_bytes;
	LOWER_TO(t->point_min_bytes, t->live_bytes);
}

static ATTR_NOINLINE void digest(struct aggregate *a, struct tally *t, const struct trace_event *e,
		uint64_t moment) {
	if (t->is_rising) {
		settle_rise(a, t);
	}
	uint32_t thread = thread_of_event(a, e);
	if (thread != t->thread) {
		tally_change_thread(a, t, thread);
	}
	uint32_t stack = STACK_NONE;
	if (e->kind == TRACE_ALLOC || e->kind == TRACE_MOVED) {
		stack = stack_for(a, t, e, moment);
	}
	start_event(a, t, e->time_ns, moment);
	switch (e->kind) {
	case TRACE_ALLOC: start_block(a, t, e, number_for(a, t, e->ptr), stack); break;
	case TRACE_FREE: on_free(a, t, e); break;
	case TRACE_REALLOC: on_realloc(a, t, e); break;
	case TRACE_MOVED: on_moved(a, t, e, stack); break;
	case TRACE_STAYED: on_stayed(a, t); break;
	default: break;
	}
	look_at_total(t);
}

// ---- the plain case

/** Settle what the last event left, and begin the next. */
static ATTR_INLINE void next_event(struct aggregate *a, struct tally *t,
		const struct trace_event *e, uint64_t moment) {
	if (t->is_rising) {
		settle_rise(a, t);
	}
	start_event(a, t, e->time_ns, moment);
}

/** Is there room for a block at `ptr`, and none in it? */
static ATTR_INLINE bool is_free(const struct aggregate *a, const struct tally *t, uint64_t ptr) {
	if (t->has_numbers) {
		return ptr - 1 < a->blocks.n && !block_pool_has(&a->blocks, ptr);
	}
	const uint32_t *slot = slot_of(a, ptr);
	return slot && *slot == BLOCK_NONE;
}

/** A number for the block at `ptr`, for which is_free was true. */
static ATTR_INLINE uint32_t take_place(struct aggregate *a, const struct tally *t, uint64_t ptr) {
	if (t->has_numbers) {
		return block_pool_claim(&a->blocks, ptr);
	}
	uint32_t number = block_pool_take(&a->blocks);
	(void)shadow_put(&a->shadow, ptr, number);
	return number;
}

/** An allocation from a known stack, at a free address. */
static ATTR_INLINE bool plain_alloc(struct aggregate *a, struct tally *t,
		const struct trace_event *e, uint64_t moment) {
	uint32_t stack = stacks_known(&a->stacks, e->node, t->owner);
	// Size 0 is no rise, but may follow one
	if (UNLIKELY(stack == STACK_NONE || !is_free(a, t, e->ptr) || e->size == 0)) {
		return false;
	}
	start_event(a, t, e->time_ns, moment);
	start_block(a, t, e, take_place(a, t, e->ptr), stack);
	t->is_rising = t->live_bytes > t->point_bytes;
	return true;
}

/** An allocation below the point's maximum that the next event frees: leaves only counts. */
static ATTR_INLINE bool plain_passing(struct aggregate *a, struct tally *t,
		const struct trace_event *e, uint64_t moment) {
	uint32_t stack = stacks_known(&a->stacks, e->node, t->owner);
	uint64_t end = next_moment(moment, e[1].time_ns);
	if (stack == STACK_NONE || !is_free(a, t, e->ptr) || t->is_rising ||
			t->live_bytes + e->size > t->point_bytes || end >= a->bins.curve_end) {
		return false;
	}
	start_event(a, t, e[0].time_ns, moment);
	start_event(a, t, e[1].time_ns, end);
	keep_peak(a, t);
	t->allocations++;
	t->allocated_bytes += e->size;
	t->ended++;
	t->frees++;
	t->temporary++;
	t->short_lived++;
	apply_passing(a, stack, e->size, moment, end - moment, t->epoch);
	return true;
}

static ATTR_INLINE bool is_own(const struct aggregate *a, const struct tally *t, uint32_t number) {
	return number != BLOCK_NONE && a->blocks.items[number].thread == t->thread;
}

/** A free by the thread that allocated the block. */
static ATTR_INLINE bool plain_free(struct aggregate *a, struct tally *t,
		const struct trace_event *e, uint64_t moment) {
	uint32_t number;
	if (t->has_numbers) {
		number = block_pool_has(&a->blocks, e->ptr) ? (uint32_t)e->ptr : BLOCK_NONE;
	} else {
		const uint32_t *slot = slot_of(a, e->ptr);
		number = slot ? *slot : BLOCK_NONE;
	}
	if (UNLIKELY(!is_own(a, t, number))) {
		return false;
	}
	if (!t->has_numbers) {
		(void)shadow_take(&a->shadow, e->ptr);
	}
	next_event(a, t, e, moment);
	end_own_block(a, t, number, UNLIKELY(a->is_told_temporary) && e->size ? END_TEMPORARY : 0);
	LOWER_TO(t->point_min_bytes, t->live_bytes);
	return true;
}

/** One of the thread's blocks moves to a free address, from a known stack. */
static ATTR_INLINE bool plain_moved(struct aggregate *a, struct tally *t,
		const struct trace_event *e, uint64_t moment) {
	uint32_t stack = stacks_known(&a->stacks, e->node, t->owner), newest = t->id->pending;
	if (stack == STACK_NONE || !newest || t->has_numbers || !is_free(a, t, e->ptr) ||
			!is_own(a, t, a->pendings.items[newest].block)) {
		return false;
	}
	struct pending p;
	(void)pendings_pop(&a->pendings, &t->id->pending, &p);
	next_event(a, t, e, moment);
	end_own_block(a, t, p.block, END_REALLOC);
	start_block(a, t, e, take_place(a, t, e->ptr), stack);
	a->stacks.items[stack].reallocs++;
	shadow_release(&a->shadow, p.ptr); // only now: its leaf may be the new block's
	look_at_total(t);
	return true;
}

/** Does the next event free what this one allocates? */
static ATTR_INLINE bool is_passing(const struct tally *t, const struct trace_event *e,
		const struct trace_event *end) {
	return !t->has_numbers && !t->follows_kde && e + 1 < end && e[1].ptr == e->ptr &&
			e->kind == TRACE_ALLOC && e[1].kind == TRACE_FREE && e->thread == t->thread &&
			e[1].thread == t->thread;
}

/** False: not plain, nothing changed. */
static ATTR_INLINE bool digest_plain(struct aggregate *a, struct tally *t,
		const struct trace_event *e, uint64_t moment) {
	if (UNLIKELY(e->thread != t->thread)) {
		return false;
	}
	switch (e->kind) {
	case TRACE_ALLOC: return plain_alloc(a, t, e, moment);
	case TRACE_FREE: return plain_free(a, t, e, moment);
	case TRACE_REALLOC:
		next_event(a, t, e, moment);
		on_realloc(a, t, e);
		return true;
	case TRACE_MOVED: return plain_moved(a, t, e, moment);
	default: return false;
	}
}

void pair_fetch(const struct aggregate *a, const struct trace_event *events, size_t n) {
	if (a->has_numbers) {
		return;
	}
	for (size_t i = 0; i < n && i < AHEAD_SLOT; i++) {
		fetch_slot(a, &events[i]);
	}
	for (size_t i = 0; i < n && i < AHEAD_BLOCK; i++) {
		fetch_block(a, &events[i]);
	}
}

static ATTR_INLINE size_t follow(struct aggregate *a, const struct trace_event *events, size_t n,
		bool has_numbers, bool follows_kde) {
	const struct trace_event *e = events, *end = events + (n < BATCH ? n : BATCH);
	struct tally t = tally_take(a, thread_of_event(a, events));
	t.has_numbers = has_numbers;
	t.follows_kde = follows_kde;
	for (; e < end; e++) {
		fetch_ahead(a, &t, e, events + n);
		uint64_t moment = next_moment(t.moment, e->time_ns);
		if (moment >= a->bins.curve_end) {
			break;
		}
		if (is_passing(&t, e, end) && plain_passing(a, &t, e, moment)) {
			e++;
			continue;
		}
		if (LIKELY(digest_plain(a, &t, e, moment))) {
			continue;
		}
		digest(a, &t, e, moment);
		t.has_numbers = has_numbers;
		t.follows_kde = follows_kde;
	}
	if (t.is_rising) {
		settle_rise(a, &t);
	}
	tally_put(a, &t);
	a->n_events += (size_t)(e - events);
	return (size_t)(e - events);
}

size_t pair_events(struct aggregate *a, const struct trace_event *events, size_t n) {
	return a->has_numbers || a->follows_kde ? follow(a, events, n, a->has_numbers, a->follows_kde)
											: follow(a, events, n, false, false);
}

void pair_exec(struct aggregate *a, uint64_t label, uint64_t moment) {
	struct tally t = tally_take(a, THREAD_NONE);
	start_event(a, &t, label, moment);
	tally_put(a, &t);
}

void pair_gone(struct aggregate *a, const uint32_t *blocks, size_t n, bool is_left) {
	struct tally t = tally_take(a, THREAD_NONE);
	for (size_t i = 0; i < n; i++) {
		if (i + AHEAD_BLOCK < n) {
			__builtin_prefetch(&a->blocks.items[blocks[i + AHEAD_BLOCK]], 1);
			fetch_stack(a, blocks[i + AHEAD_STACK]);
		}
		const struct block *b = &a->blocks.items[blocks[i]];
		if (b->thread != t.thread) {
			tally_change_thread(a, &t, b->thread);
		}
		if (is_left) {
			struct left *left = &a->left.items[b->stack];
			left->blocks++;
			left->bytes += b->size;
			a->sum.left_blocks++;
			a->sum.left_bytes += b->size;
		}
		a->sum.gone_at_exec++;
		a->sum.gone_at_exec_bytes += b->size;
		leave(a, &t, blocks[i], END_GONE);
		look_at_total(&t);
	}
	tally_put(a, &t);
}
