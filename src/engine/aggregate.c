// SPDX-License-Identifier: MIT
#include "engine/aggregate.h"

/**
 * Events go through two loops, a batch at a time. The first pairs: it follows addresses, blocks,
 * threads, the total and its peak, in the order of events, and writes down what that means for
 * stacks. The second applies these changes to the stacks, whose cache lines the first one asked for.
 * A period of the time axis ends between batches.
 *
 * All memory that a batch may need is reserved before, or, for what depends on the event, before
 * the event changes anything. So an event is digested whole or not at all.
 */

#include "engine/state.h"

#include <stdlib.h>

#define LABEL_MAX ((uint64_t)1 << 62) // a time beyond is nonsense; sums shall not overflow

struct aggregate *aggregate_create(const struct aggregate_limits *limits, struct err *err) {
	static const struct aggregate_limits defaults = {
			.min_bins = 512,
			.max_entries = 4 << 20,
			.max_sizes_per_stack = 64,
	};
	limits = limits ? limits : &defaults;
	struct aggregate *a = calloc(1, sizeof *a);
	if (!a || !shadow_init(&a->shadow) || !stacks_init(&a->stacks) || !threads_init(&a->threads) ||
			!bins_init(&a->bins, limits->min_bins, limits->max_entries)) {
		aggregate_destroy(a);
		err_memory(err);
		return NULL;
	}
	a->sizes.max_per_stack = limits->max_sizes_per_stack;
	a->epoch = 1;
	return a;
}

void aggregate_destroy(struct aggregate *a) {
	if (!a) {
		return;
	}
	shadow_finish(&a->shadow);
	blocks_finish(&a->blocks);
	stacks_finish(&a->stacks);
	sizes_finish(&a->sizes);
	bins_finish(&a->bins);
	threads_finish(&a->threads);
	vec_finish(&a->pendings);
	free(a);
}

/** The moment that an event of this time would have. */
static uint64_t next_moment(const struct aggregate *a, uint64_t label) {
	label = label < LABEL_MAX ? label : LABEL_MAX;
	uint64_t moment = label > a->moment ? label : a->moment + 1;
	// A period's first moment is no event's: what it holds there is what came before it
	return moment + ((moment & ((1 << BINS_SHORTEST_SHIFT) - 1)) == 0);
}

static void start_event(struct aggregate *a, uint64_t label, uint64_t moment) {
	a->quality.time_corrections += label < a->label;
	a->label = label > a->label ? label : a->label;
	a->moment = moment;
}

/** The total moved for the last time in this event. */
static void end_event(struct aggregate *a) {
	uint64_t live = a->sum.live_bytes;
	struct rec_edge *edge = &a->bins.running;
	if (live > edge->bytes) {
		edge->time_ns = a->moment;
		edge->bytes = live;
		edge->blocks = a->sum.live_blocks;
		edge->allocations = a->sum.allocations;
		edge->allocated_bytes = a->sum.allocated_bytes;
		edge->temporary = a->sum.temporary;
		a->bins.running_edge = a->moment;
		a->changes[a->n_changes - 1].moves_edge = 1;
		if (live > a->sum.peak_bytes) {
			a->sum.peak_bytes = live;
			a->sum.peak_blocks = a->sum.live_blocks;
			a->sum.peak_time_ns = a->moment;
			a->epoch += a->is_epoch_used;
			a->is_epoch_used = false;
		}
	} else if (live < edge->min_bytes) {
		edge->min_bytes = live;
	}
	a->n_events++;
}

/** The epoch in which a stack must keep what it holds, before a change to a total of `live`. */
static uint32_t epoch_of_change(struct aggregate *a, uint64_t live) {
	if (live > a->sum.peak_bytes) {
		return 0;
	}
	a->is_epoch_used = true;
	return a->epoch;
}

static struct change *new_change(struct aggregate *a, enum change_kind kind, uint32_t stack,
		uint64_t size, uint32_t epoch) {
	struct change *c = &a->changes[a->n_changes++];
	*c = (struct change){.kind = (uint8_t)kind, .stack = stack, .size = size, .epoch = epoch};
	const struct stack *s = &a->stacks.items[stack];
	__builtin_prefetch(s, 1);
	if (kind == CHANGE_FREE) {
		__builtin_prefetch(s->lifetimes, 1);
	}
	return c;
}

/** The block leaves the total and its thread. It has no address any more. */
static struct change *leave(struct aggregate *a, uint32_t block, enum change_kind kind) {
	const struct block *b = &a->blocks.items[block];
	a->sum.live_bytes -= b->size;
	a->sum.live_blocks--;
	a->is_epoch_used = true;
	struct thread_record *owner = thread_record_of(&a->threads, b->thread);
	thread_keep_peak(owner, a->epoch);
	owner->live_bytes -= b->size;
	struct change *c = new_change(a, kind, b->stack, b->size, a->epoch);
	c->from = (uint16_t)bins_edge_after(&a->bins, b->birth);
	blocks_give(&a->blocks, block);
	return c;
}

/** `thread` frees a block, that has no address any more. */
static void end_block(struct aggregate *a, uint32_t block, uint32_t thread, bool is_realloc) {
	struct block b = a->blocks.items[block];
	struct change *c = leave(a, block, CHANGE_FREE);
	c->time = a->moment - b.birth;
	uint64_t further = a->threads.ids.items[b.thread].allocations - b.number;
	c->is_temporary = further == 0 && !is_realloc;
	c->is_short_lived = further <= SHORT_LIVED_NUMBER || c->time <= SHORT_LIVED_NS;
	a->sum.frees++;
	a->sum.temporary += c->is_temporary;
	a->sum.short_lived += c->is_short_lived;

	struct thread_record *owner = thread_record_of(&a->threads, b.thread);
	owner->temporary += c->is_temporary;
	thread_record_of(&a->threads, thread)->frees++;
	if (b.thread != thread) {
		owner->foreign_frees++;
		handovers_count(&a->threads, b.thread, thread, b.size);
	}
}

/** shadow_reserve made room for it. */
static void start_block(struct aggregate *a, const struct trace_event *e, uint32_t stack,
		uint32_t thread, bool is_realloc) {
	uint32_t block = blocks_take(&a->blocks);
	uint32_t replaced = shadow_put(&a->shadow, e->ptr, block);
	if (UNLIKELY(replaced != BLOCK_NONE)) {
		a->quality.double_allocations++;
		end_block(a, replaced, thread, false);
	}
	uint32_t epoch = epoch_of_change(a, a->sum.live_bytes + e->size);
	struct thread_id *id = &a->threads.ids.items[thread];
	struct thread_record *record = thread_record_of(&a->threads, thread);
	if (epoch) {
		thread_keep_peak(record, epoch);
	}
	record->live_bytes += e->size;
	record->allocations++;
	record->allocated_bytes += e->size;
	a->blocks.items[block] = (struct block){
			.size = e->size,
			.birth = a->moment,
			.number = ++id->allocations,
			.stack = stack,
			.thread = thread,
	};
	a->sum.allocations++;
	a->sum.reallocs += is_realloc;
	a->sum.allocated_bytes += e->size;
	a->sum.live_bytes += e->size;
	a->sum.live_blocks++;
	struct change *c = new_change(a, CHANGE_ALLOC, stack, e->size, epoch);
	c->time = a->moment;
	c->is_realloc = is_realloc;
}

static void on_free(struct aggregate *a, const struct trace_event *e, uint32_t thread) {
	uint32_t block = shadow_take(&a->shadow, e->ptr);
	if (LIKELY(block != BLOCK_NONE)) {
		end_block(a, block, thread, false);
	} else {
		a->quality.unknown_frees++;
	}
}

static void on_realloc(struct aggregate *a, const struct trace_event *e, uint32_t thread) {
	struct pending p = {.ptr = e->ptr, .thread = thread, .block = shadow_hold(&a->shadow, e->ptr)};
	pendings_push(&a->pendings, &a->threads.ids.items[thread].pending, p);
}

static void on_moved(struct aggregate *a, const struct trace_event *e, uint32_t stack,
		uint32_t thread) {
	struct pending p = {0};
	(void)pendings_pop(&a->pendings, &a->threads.ids.items[thread].pending, &p);
	if (p.block != BLOCK_NONE) {
		end_block(a, p.block, thread, true);
	} else {
		a->quality.unknown_frees++;
	}
	start_block(a, e, stack, thread, true);
	// Only now: the reserved leaf of the new block may be that of the old one
	if (p.block != BLOCK_NONE) {
		shadow_release(&a->shadow, p.ptr);
	}
}

/** The realloc did not happen. False: the address was handed out again, so it did. */
static bool give_back(struct aggregate *a, const struct pending *p) {
	if (p->block != BLOCK_NONE) {
		if (shadow_at(&a->shadow, p->ptr) != BLOCK_NONE) {
			return false;
		}
		(void)shadow_put(&a->shadow, p->ptr, p->block);
		shadow_release(&a->shadow, p->ptr);
	}
	return true;
}

static void on_stayed(struct aggregate *a, uint32_t thread) {
	struct pending p;
	if (pendings_pop(&a->pendings, &a->threads.ids.items[thread].pending, &p) &&
			!give_back(a, &p)) {
		a->quality.double_allocations++;
		end_block(a, p.block, thread, false);
		shadow_release(&a->shadow, p.ptr);
	}
}

/** False: out of memory, nothing changed. */
static bool digest(struct aggregate *a, const struct trace_event *e, uint64_t moment) {
	uint32_t thread = LIKELY(e->thread < a->threads.ids.n) ? e->thread : THREAD_NONE;
	uint32_t stack = STACK_NONE;
	if (e->kind == TRACE_ALLOC || e->kind == TRACE_MOVED) {
		if (!shadow_reserve(&a->shadow, e->ptr) ||
				(stack = stacks_at(&a->stacks, e->node, e->size, moment)) == STACK_NONE) {
			return false;
		}
	}
	start_event(a, e->time_ns, moment);
	switch ((enum trace_event_kind)e->kind) {
	case TRACE_ALLOC: start_block(a, e, stack, thread, false); break;
	case TRACE_FREE: on_free(a, e, thread); break;
	case TRACE_REALLOC: on_realloc(a, e, thread); break;
	case TRACE_MOVED: on_moved(a, e, stack, thread); break;
	case TRACE_STAYED: on_stayed(a, thread); break;
	default: break;
	}
	end_event(a);
	return true;
}

static void apply_alloc(struct aggregate *a, struct stack *s, const struct change *c) {
	s->live_bytes += c->size;
	s->live_blocks++;
	s->allocations++;
	s->allocated_bytes += c->size;
	s->last = c->time;
	if (!size_is_usual(s, c->size)) {
		sizes_count(&a->sizes, s, c->stack, c->size);
	}
	if (c->is_realloc) {
		a->stacks.rest[c->stack].reallocs++;
	}
}

static void apply_end(struct aggregate *a, struct stack *s, const struct change *c) {
	s->live_bytes -= c->size;
	s->live_blocks--;
	bins_log(&a->bins, &s->log_hint, c->stack, c->from, c->size, c->is_temporary);
	if (c->kind == CHANGE_GONE) {
		return;
	}
	uint32_t *lifetime = &s->lifetimes[lifetime_class(c->time)];
	*lifetime += *lifetime < UINT32_MAX;
	if (c->is_short_lived) {
		struct stack_rest *rest = &a->stacks.rest[c->stack];
		rest->short_lived++;
		rest->temporary += c->is_temporary;
		rest->temporary_bytes += c->is_temporary ? c->size : 0;
	}
}

static void apply_changes(struct aggregate *a) {
	for (size_t i = 0; i < a->n_changes; i++) {
		const struct change *c = &a->changes[i];
		struct stack *s = &a->stacks.items[c->stack];
		if (c->epoch) {
			stack_keep_peak(s, c->epoch);
		}
		if (c->kind == CHANGE_ALLOC) {
			apply_alloc(a, s, c);
		} else {
			apply_end(a, s, c);
		}
		if (c->moves_edge) {
			bins_settle(&a->bins);
		}
	}
	a->n_changes = 0;
}

static bool reserve_batch(struct aggregate *a) {
	if (UNLIKELY(a->epoch >= UINT32_MAX - BATCH)) {
		stacks_restart_epochs(&a->stacks, a->epoch);
		threads_restart_epochs(&a->threads, a->epoch);
		a->epoch = 1;
	}
	return blocks_reserve(&a->blocks, BATCH) && sizes_reserve(&a->sizes, BATCH) &&
			bins_reserve(&a->bins, CHANGES) && handovers_reserve(&a->threads, CHANGES) &&
			pendings_reserve(&a->pendings, BATCH);
}

/** The period that a moment is after has ended. False: out of memory. */
static bool reach(struct aggregate *a, uint64_t moment) {
	while (moment >= a->bins.period_end) {
		struct rec_edge now = {
				.bytes = a->sum.live_bytes,
				.blocks = a->sum.live_blocks,
				.allocations = a->sum.allocations,
				.allocated_bytes = a->sum.allocated_bytes,
				.temporary = a->sum.temporary,
		};
		if (!bins_end_period(&a->bins, &now)) {
			return false;
		}
	}
	return true;
}

/** With very many blocks, those that are freed in this batch are no longer in the cache. */
static void fetch_ahead(const struct aggregate *a, const struct trace_event *events, size_t n) {
	for (int pass = 0; pass < 2; pass++) {
		for (size_t i = 0; i < n; i++) {
			uint64_t ptr = events[i].ptr;
			struct shadow_leaf *leaf = shadow_is_odd(ptr) ? NULL : shadow_leaf_of(&a->shadow, ptr);
			if (leaf && pass == 0) {
				__builtin_prefetch(shadow_slot_of(leaf, ptr), 1);
			} else if (leaf) {
				__builtin_prefetch(&a->blocks.items[*shadow_slot_of(leaf, ptr)], 1);
			}
		}
	}
}

/** Digest what belongs to the running period, at most a batch. False: out of memory. */
static bool digest_batch(struct aggregate *a, const struct trace_event *events, size_t n,
		size_t *done) {
	n = n < BATCH ? n : BATCH;
	if (a->sum.live_blocks >= BLOCKS_PREFETCH) {
		fetch_ahead(a, events, n);
	}
	size_t i = 0;
	bool ok = true;
	while (i < n) {
		uint64_t moment = next_moment(a, events[i].time_ns);
		if (moment >= a->bins.period_end) {
			break;
		}
		ok = digest(a, &events[i], moment);
		if (!ok) {
			break;
		}
		i++;
	}
	apply_changes(a);
	*done += i;
	return ok;
}

bool aggregate_events(struct aggregate *a, const struct trace_event *events, size_t n, size_t *done,
		struct err *err) {
	*done = 0;
	while (*done < n) {
		if (!reserve_batch(a) || !reach(a, next_moment(a, events[*done].time_ns)) ||
				!digest_batch(a, events + *done, n - *done, done)) {
			return err_memory(err);
		}
	}
	return true;
}

uint32_t aggregate_thread(struct aggregate *a, uint32_t tid, uint32_t image, uint64_t now_ns) {
	return threads_add(&a->threads, tid, image, now_ns, a->epoch);
}

void aggregate_thread_name(struct aggregate *a, uint32_t thread, uint32_t name) {
	struct thread_record *r = thread_record_of(&a->threads, thread);
	if (r->n_merged == 0) {
		r->name = name;
	}
}

void aggregate_thread_ended(struct aggregate *a, uint32_t thread, uint64_t now_ns) {
	uint32_t *newest = &a->threads.ids.items[thread].pending;
	for (struct pending p; pendings_pop(&a->pendings, newest, &p);) {
		if (!give_back(a, &p)) {
			// Its block ends, which is an event. Without memory for that it stays, with no address
			pendings_push(&a->pendings, newest, p);
			struct trace_event e = {.kind = TRACE_STAYED, .time_ns = now_ns};
			e.thread = thread & (THREADS_MAX - 1);
			size_t done;
			if (!aggregate_events(a, &e, 1, &done, NULL)) {
				break;
			}
		}
	}
	threads_end(&a->threads, thread, now_ns);
}

/** No realloc is pending. */
static void forget_pendings(struct aggregate *a) {
	for (size_t i = 1; i < a->pendings.n; i++) {
		a->threads.ids.items[a->pendings.items[i].thread].pending = 0;
	}
	a->pendings.n = 0;
	a->pendings.unused = 0;
}

bool aggregate_exec(struct aggregate *a, uint64_t now_ns, struct err *err) {
	uint64_t moment = next_moment(a, now_ns);
	if (!reach(a, moment)) {
		return err_memory(err);
	}
	start_event(a, now_ns, moment);
	forget_pendings(a);
	shadow_clear(&a->shadow);
	for (uint32_t block = 1; block < a->blocks.n;) {
		if (!reserve_batch(a)) {
			return err_memory(err);
		}
		for (; block < a->blocks.n && a->n_changes < CHANGES; block++) {
			struct block *b = &a->blocks.items[block];
			if (b->stack != BLOCK_UNUSED) {
				a->sum.gone_at_exec++;
				a->sum.gone_at_exec_bytes += b->size;
				(void)leave(a, block, CHANGE_GONE);
			}
		}
		apply_changes(a);
	}
	end_event(a);
	return true;
}

struct aggregate_now aggregate_now(const struct aggregate *a) {
	return (struct aggregate_now){
			.live_bytes = a->sum.live_bytes,
			.live_blocks = a->sum.live_blocks,
			.peak_bytes = a->sum.peak_bytes,
			.allocations = a->sum.allocations,
			.events = a->n_events,
			.n_stacks = a->stacks.n,
			.n_edges = a->bins.n + 1,
			.n_entries = a->bins.n_intervals + a->bins.n_log,
			.memory_bytes = sizeof *a + shadow_bytes(&a->shadow) + stacks_bytes(&a->stacks) +
					(uint64_t)a->blocks.n * sizeof *a->blocks.items + sizes_bytes(&a->sizes) +
					bins_bytes(&a->bins) + threads_bytes(&a->threads) +
					a->pendings.capacity * sizeof *a->pendings.items,
	};
}
