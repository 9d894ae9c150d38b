// SPDX-License-Identifier: MIT
/* Runs events through pair.c in batches, with memory reserved before; ends periods in between. */
#include "engine/aggregate/state.h"

struct aggregate_limits aggregate_default_limits(void) {
	return (struct aggregate_limits){
			.min_bins = 512,
			.max_entries = 2 << 20,
			.max_sizes_per_stack = 64,
	};
}

struct aggregate *aggregate_create(const struct aggregate_limits *limits) {
	const struct aggregate_limits defaults = aggregate_default_limits();
	limits = limits ? limits : &defaults;
	struct aggregate *a = memory_new(1, sizeof *a);
	shadow_init(&a->shadow);
	stacks_init(&a->stacks);
	threads_init(&a->threads);
	bins_init(&a->bins, limits->min_bins, limits->max_entries);
	a->sizes.max_per_stack = limits->max_sizes_per_stack;
	a->epoch = 1;
	a->watched_bytes = UINT64_MAX;
	return a;
}

void aggregate_destroy(struct aggregate *a) {
	if (!a) {
		return;
	}
	shadow_finish(&a->shadow);
	block_pool_finish(&a->blocks);
	old_blocks_finish(&a->old);
	stacks_finish(&a->stacks);
	sizes_finish(&a->sizes);
	bins_finish(&a->bins);
	threads_finish(&a->threads);
	CALL_FOR(vec_finish, a, pendings, left);
	free(a);
}

void aggregate_follow_kde(struct aggregate *a, bool is_told) {
	a->follows_kde = true;
	a->is_told_temporary = is_told;
	a->first.stack = a->last.stack = STACK_NONE;
}

void aggregate_expect_numbers(struct aggregate *a) {
	a->has_numbers = true;
}

static void reserve_batch(struct aggregate *a) {
	if (UNLIKELY(a->epoch >= UINT32_MAX - BATCH)) {
		stacks_restart_epochs(&a->stacks, a->epoch);
		threads_restart_epochs(&a->threads, a->epoch);
		a->epoch = 1;
	}
	block_pool_reserve(&a->blocks, BATCH);
	sizes_reserve(&a->sizes, BATCH);
	bins_reserve(&a->bins, ENDS);
	stacks_reserve_lives(&a->stacks, ENDS);
	handovers_reserve(&a->threads, ENDS);
	(void)vec_reserve(&a->pendings, BATCH + 1);
}

/** End the periods that ended before this moment. */
static void reach(struct aggregate *a, uint64_t moment) {
	const struct rec_edge now = {
			.bytes = a->sum.live_bytes,
			.blocks = a->sum.live_blocks,
			FIELDS_OF(&a->sum, allocations, allocated_bytes, temporary),
	};
	while (moment >= a->bins.curve_end) {
		bins_advance(&a->bins, &now, a->stacks.n);
	}
}

void aggregate_until(struct aggregate *a, uint64_t now_ns) {
	RAISE_TO(a->moment, now_ns);
	reach(a, a->moment);
}

void aggregate_events(struct aggregate *a, const struct trace_event *events, size_t n) {
	pair_fetch(a, events, n);
	for (size_t done = 0; done < n;) {
		// In this order: joining periods uses room in the log
		reach(a, next_moment(a->moment, events[done].time_ns));
		reserve_batch(a);
		done += pair_events(a, events + done, n - done);
	}
}

uint32_t aggregate_thread(struct aggregate *a, uint32_t tid, uint32_t image, uint64_t now_ns) {
	return threads_add(&a->threads, tid, image, now_ns, a->epoch);
}

void aggregate_thread_name(struct aggregate *a, uint32_t thread, uint32_t name) {
	struct thread_record *r = thread_record_of(&a->threads, thread);
	r->name = r->n_merged == 0 ? name : r->name;
}

bool aggregate_has_pending(const struct aggregate *a, uint32_t thread) {
	return a->threads.ids.items[thread].pending != 0;
}

void aggregate_thread_ended(struct aggregate *a, uint32_t thread, uint64_t now_ns) {
	uint32_t *newest = &a->threads.ids.items[thread].pending;
	for (struct pending p; pendings_pop(&a->pendings, newest, &p);) {
		if (!pair_give_back(a, &p)) {
			// Its block ends, which is an event
			pendings_push(&a->pendings, newest, p);
			struct trace_event e = {.kind = TRACE_STAYED, .time_ns = now_ns};
			e.thread = thread & (THREADS_MAX - 1);
			aggregate_events(a, &e, 1);
		}
	}
	threads_end(&a->threads, thread, now_ns);
}

static void forget_pendings(struct aggregate *a) {
	for (size_t i = 1; i < a->pendings.n; i++) {
		a->threads.ids.items[a->pendings.items[i].thread].pending = 0;
	}
	a->pendings.n = 0;
	a->pendings.unused = 0;
}

/** Ends blocks without a free, no more than ENDS at a time. */
struct ending {
	struct aggregate *a;
	bool is_left;
	size_t n;
	uint32_t blocks[ENDS];
};

static void end_collected(struct ending *e) {
	reserve_batch(e->a);
	pair_gone(e->a, e->blocks, e->n, e->is_left);
	e->n = 0;
}

static void end_block(struct ending *e, uint32_t number) {
	e->blocks[e->n++] = number;
	if (e->n == ENDS) {
		end_collected(e);
	}
}

void aggregate_exec(struct aggregate *a, uint64_t now_ns) {
	uint64_t moment = next_moment(a->moment, now_ns);
	reach(a, moment);
	pair_exec(a, now_ns, moment);
	forget_pendings(a);
	shadow_clear(&a->shadow);
	struct ending e = {.a = a};
	EACH_NUMBER(block, a->blocks.n, a->blocks.items[block].stack != BLOCK_UNUSED) {
		end_block(&e, block);
	}
	end_collected(&e);
}

/** The leaf may be freed with its last block. */
static void end_leaf(struct ending *e, uint64_t start, uint64_t end) {
	struct shadow *s = &e->a->shadow;
	for (uint64_t at = start; at < end; at += 16) {
		struct shadow_leaf *leaf = shadow_leaf_of(s, start);
		if (!leaf || leaf->n == 0) {
			break;
		}
		const uint32_t number = *shadow_slot_of(leaf, at);
		if (number != BLOCK_NONE) {
			end_block(e, number);
			(void)shadow_take(s, at);
		}
	}
}

static void end_odd(struct ending *e, uint64_t start, uint64_t end) {
	struct map *odd = &e->a->shadow.odd;
	for (size_t i = 0; i < odd->capacity;) {
		const struct map_entry at = odd->entries[i];
		if (at.value == BLOCK_NONE || at.key < start || at.key >= end) {
			i++;
			continue;
		}
		end_block(e, (uint32_t)at.value);
		(void)map_take(odd, at.key); // another one may move into its place
	}
}

void aggregate_end_range(struct aggregate *a, uint64_t start, uint64_t end, uint64_t now_ns,
		bool is_left) {
	uint64_t moment = next_moment(a->moment, now_ns);
	struct ending e = {.a = a, .is_left = is_left};
	while (is_left && a->left.n < a->stacks.n) {
		(void)vec_push(&a->left);
	}
	reach(a, moment);
	pair_exec(a, now_ns, moment);
	end_leaf(&e, start, end);
	end_odd(&e, start, end);
	end_collected(&e);
}

uint64_t aggregate_watch(struct aggregate *a, uint64_t above_bytes) {
	const uint64_t highest_bytes = a->watched_bytes;
	a->watched_bytes = above_bytes;
	return highest_bytes;
}

const struct rec_summary *aggregate_sums(const struct aggregate *a, uint64_t *unknown_frees) {
	*unknown_frees = a->quality.unknown_frees;
	return &a->sum;
}

void aggregate_expect_old_blocks(struct aggregate *a) {
	a->old.is_waiting = true;
}

void aggregate_old_blocks(struct aggregate *a, struct extent *blocks, size_t n) {
	a->quality.unknown_frees -= old_blocks_take(&a->old, blocks, n);
}

struct aggregate_now aggregate_now(const struct aggregate *a) {
	return (struct aggregate_now){
			FIELDS_OF(&a->sum, live_bytes, live_blocks, peak_bytes, allocations),
			.events = a->n_events,
			.n_stacks = a->stacks.n,
			.n_edges = a->bins.n + 1,
			.n_entries = a->bins.n_intervals + a->bins.n_log,
			.memory_bytes = sizeof *a + shadow_bytes(&a->shadow) + stacks_bytes(&a->stacks) +
					(uint64_t)a->blocks.n * (sizeof *a->blocks.items + sizeof *a->blocks.unused) +
					sizes_bytes(&a->sizes) + bins_bytes(&a->bins) + threads_bytes(&a->threads) +
					a->pendings.capacity * sizeof *a->pendings.items,
	};
}
