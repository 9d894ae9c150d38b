// SPDX-License-Identifier: MIT
#include "replay/replay.h"

#include "base/err.h"
#include "base/vec.h"

struct replay *replay_create(uint32_t max_sizes_per_stack) {
	struct replay *r = calloc(1, sizeof *r);
	check(r);
	r->max_sizes_per_stack = max_sizes_per_stack;
	memset(r->buckets, 0xff, sizeof r->buckets);
	return r;
}

void replay_destroy(struct replay *r) {
	if (r) {
		vec_finish(&r->blocks);
		vec_finish(&r->states);
		vec_finish(&r->pendings);
		vec_finish(&r->thread_allocations);
		free(r);
	}
}

static uint32_t *bucket_of(struct replay *r, uint64_t ptr) {
	return &r->buckets[(ptr >> 4 ^ ptr >> 20 ^ ptr) % REPLAY_BUCKETS];
}

/** Where the number of the block at `ptr` stands, or where the chain ends. */
static uint32_t *link_to(struct replay *r, uint64_t ptr) {
	uint32_t *link = bucket_of(r, ptr);
	while (*link != REPLAY_NONE && r->blocks.items[*link].ptr != ptr) {
		link = &r->blocks.items[*link].next;
	}
	return link;
}

/** The block at `ptr`, which has no address any more; or REPLAY_NONE. */
static uint32_t take(struct replay *r, uint64_t ptr) {
	uint32_t *link = link_to(r, ptr);
	uint32_t number = *link;
	if (number != REPLAY_NONE) {
		*link = r->blocks.items[number].next;
	}
	return number;
}

static void put(struct replay *r, uint64_t ptr, uint32_t number) {
	uint32_t *bucket = bucket_of(r, ptr);
	r->blocks.items[number].ptr = ptr;
	r->blocks.items[number].next = *bucket;
	*bucket = number;
}

static uint64_t *allocations_of(struct replay *r, uint32_t thread) {
	while (r->thread_allocations.n <= thread) {
		check(vec_push(&r->thread_allocations));
	}
	return &r->thread_allocations.items[thread];
}

static void start_event(struct replay *r, uint64_t label) {
	const uint64_t shortest_period = 131072;
	if (label < r->label) {
		r->quality.time_corrections++;
		label = r->label;
	}
	r->label = label;
	uint64_t next = r->moment + 1;
	r->moment = label > next ? label : next;
	if (r->moment % shortest_period == 0) {
		r->moment++;
	}
}

static void end_event(struct replay *r) {
	struct replay_state *s = vec_push(&r->states);
	check(s);
	*s = (struct replay_state){
			.moment = r->moment,
			.bytes = r->sum.live_bytes,
			.blocks = r->sum.live_blocks,
			.allocations = r->sum.allocations,
			.allocated_bytes = r->sum.allocated_bytes,
			.temporary = r->sum.temporary,
	};
}

static void end_block(struct replay *r, uint32_t number, uint32_t thread, bool is_realloc) {
	struct replay_block *b = &r->blocks.items[number];
	(void)allocations_of(r, thread); // it is known from now on
	uint64_t further = *allocations_of(r, b->thread) - b->number;
	b->death = r->moment;
	b->freed_by = thread;
	b->is_temporary = further == 0 && !is_realloc;
	b->is_short_lived = further <= 16 || b->death - b->birth <= 1000000;
	r->sum.frees++;
	r->sum.temporary += b->is_temporary;
	r->sum.short_lived += b->is_short_lived;
	r->sum.live_bytes -= b->size;
	r->sum.live_blocks--;
}

static void start_block(struct replay *r, const struct trace_event *e, bool is_realloc) {
	uint32_t old = take(r, e->ptr);
	if (old != REPLAY_NONE) {
		r->quality.double_allocations++;
		end_block(r, old, e->thread, false);
	}
	struct replay_block *b = vec_push(&r->blocks);
	check(b);
	b->size = e->size;
	b->birth = r->moment;
	b->death = UINT64_MAX;
	b->node = e->node;
	b->thread = e->thread;
	b->number = ++*allocations_of(r, e->thread);
	b->is_by_realloc = is_realloc;
	put(r, e->ptr, (uint32_t)(r->blocks.n - 1));
	r->sum.allocations++;
	r->sum.reallocs += is_realloc;
	r->sum.allocated_bytes += e->size;
	r->sum.live_bytes += e->size;
	r->sum.live_blocks++;
}

static struct replay_pending *newest_pending(struct replay *r, uint32_t thread) {
	while (r->pendings.n && r->pendings.items[r->pendings.n - 1].is_over) {
		r->pendings.n--;
	}
	for (size_t i = r->pendings.n; i-- > 0;) {
		struct replay_pending *p = &r->pendings.items[i];
		if (p->thread == thread && !p->is_over) {
			return p;
		}
	}
	return NULL;
}

static void on_realloc(struct replay *r, const struct trace_event *e) {
	struct replay_pending *p = vec_push(&r->pendings);
	check(p);
	*p = (struct replay_pending){.ptr = e->ptr, .thread = e->thread, .block = take(r, e->ptr)};
}

static void on_moved(struct replay *r, const struct trace_event *e) {
	struct replay_pending *p = newest_pending(r, e->thread);
	if (p && p->block != REPLAY_NONE) {
		end_block(r, p->block, e->thread, true);
	} else {
		r->quality.unknown_frees++;
	}
	if (p) {
		p->is_over = true;
	}
	start_block(r, e, true);
}

/** False: the address was handed out again. */
static bool give_back(struct replay *r, struct replay_pending *p) {
	p->is_over = true;
	if (p->block == REPLAY_NONE) {
		return true;
	}
	if (*link_to(r, p->ptr) != REPLAY_NONE) {
		return false;
	}
	put(r, p->ptr, p->block);
	return true;
}

static void on_stayed(struct replay *r, uint32_t thread) {
	struct replay_pending *p = newest_pending(r, thread);
	if (p && !give_back(r, p)) {
		end_block(r, p->block, thread, false);
	}
}

static void on_free(struct replay *r, const struct trace_event *e) {
	uint32_t number = take(r, e->ptr);
	if (number != REPLAY_NONE) {
		end_block(r, number, e->thread, false);
	} else {
		r->quality.unknown_frees++;
	}
}

void replay_thread_ended(struct replay *r, uint32_t thread, uint64_t now_ns) {
	for (struct replay_pending *p; (p = newest_pending(r, thread));) {
		if (!give_back(r, p)) {
			start_event(r, now_ns);
			end_block(r, p->block, thread, false);
			end_event(r);
		}
	}
}

void replay_exec(struct replay *r, uint64_t now_ns) {
	start_event(r, now_ns);
	for (size_t i = 0; i < r->blocks.n; i++) {
		struct replay_block *b = &r->blocks.items[i];
		if (b->death == UINT64_MAX) {
			b->death = r->moment;
			b->is_gone = true;
			r->sum.gone_at_exec++;
			r->sum.gone_at_exec_bytes += b->size;
		}
	}
	r->sum.live_bytes = 0;
	r->sum.live_blocks = 0;
	r->pendings.n = 0;
	memset(r->buckets, 0xff, sizeof r->buckets);
	end_event(r);
}

void replay_events(struct replay *r, const struct trace_event *events, size_t n) {
	for (size_t i = 0; i < n; i++) {
		const struct trace_event *e = &events[i];
		if (e->kind == TRACE_EXEC) {
			replay_exec(r, e->time_ns);
			continue;
		}
		if (e->kind == TRACE_THREAD_ENDED) {
			replay_thread_ended(r, e->thread, e->time_ns);
			continue;
		}
		start_event(r, e->time_ns);
		switch ((enum trace_event_kind)e->kind) {
		case TRACE_ALLOC: start_block(r, e, false); break;
		case TRACE_FREE: on_free(r, e); break;
		case TRACE_REALLOC: on_realloc(r, e); break;
		case TRACE_MOVED: on_moved(r, e); break;
		case TRACE_STAYED: on_stayed(r, e->thread); break;
		default: break;
		}
		end_event(r);
	}
}
