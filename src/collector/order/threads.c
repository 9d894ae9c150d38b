// SPDX-License-Identifier: MIT
/*
 * Which threads there are and which are gone, from slots to readers.
 *
 * Slots are claimed from low to high (wire/segment.h: slot_hint), so those that were ever in use
 * are a prefix of all. What lies beyond is never touched: reading it would cost memory. Slots are
 * looked through when another was claimed, and now and then.
 *
 * A slot is given back when its thread is gone (the sink says so, another thread has its tid, or
 * another program runs in its process) and its rings are drained.
 */
#include "collector/order/parts.h"

enum { ASK_AT_ONCE = 256 };
static const uint64_t search_pause_ns = 5 * 1000 * 1000;
static const uint64_t ask_pause_ns = 10 * 1000 * 1000;

static void end_namesake(struct order *o, const struct reader *r) {
	struct reader **other = FIND(at, o->readers, o->n_readers,
			*at != r && (*at)->tid == r->tid && (*at)->pid == r->pid && !(*at)->is_gone);
	if (other) {
		order_set_gone(*other);
	}
}

static void introduce(struct order *o, struct reader *r) {
	const struct order_thread thread = {
			FIELDS_OF(r, tid, pid, image),
			.slot = r->slot_index,
			.time_ns = o->label_now_ns,
	};
	r->thread = o->sink.thread(o->sink.user, &thread);
	r->is_held = false;
	o->counts.n_threads++;
}

static void add_reader(struct order *o, uint32_t index) {
	struct reader *r = memory_new(1, sizeof *r);
	r->slot = segment_slot(o->segment, index);
	for (unsigned ring = 0; ring < N_RINGS; ring++) {
		r->entries[ring] = (struct wire_event *)(void *)((uint8_t *)r->slot + wire_ring_at(ring));
	}
	r->slot_index = index;
	COPY_FIELDS(r, r->slot, tid, pid, image);
	r->alive_at_ns = o->now_ns;
	r->index = o->n_readers;
	o->readers[o->n_readers++] = r;
	o->by_slot[index] = r;
	end_namesake(o, r);
	r->is_held = true;
	if (r->image <= o->image) {
		introduce(o, r);
	}
}

/** The next image begins once all threads of the one before have ended. */
static void begin_image(struct order *o) {
	uint32_t next = UINT32_MAX;
	for (uint32_t i = 0; i < o->n_readers; i++) {
		const struct reader *r = o->readers[i];
		if (!r->is_held) {
			return;
		}
		next = r->image < next ? r->image : next;
	}
	if (o->n_readers == 0) {
		return;
	}
	order_flush(o);
	if (o->image != 0) {
		o->sink.image(o->sink.user, next);
	}
	o->image = next;
	for (uint32_t i = 0; i < o->n_readers; i++) {
		if (o->readers[i]->image == next) {
			introduce(o, o->readers[i]);
		}
	}
}

void order_find_threads(struct order *o) {
	const struct segment_header *h = o->segment->header;
	// In this order: a thread with an event before the horizon has counted itself before
	uint32_t n_claims = atomic_load_explicit(&h->n_claims, memory_order_acquire);
	if (n_claims == o->seen_claims && o->now_ns - o->searched_ns < search_pause_ns && !o->is_last) {
		return;
	}
	uint32_t hint = atomic_load_explicit(&h->slot_hint, memory_order_acquire);
	o->seen_claims = n_claims;
	o->searched_ns = o->now_ns;
	for (uint32_t i = 0; i < o->segment->n_slots; i++) {
		struct thread_slot *slot = segment_slot(o->segment, i);
		if (i >= o->n_seen_slots && i >= hint &&
				atomic_load_explicit(&slot->state, memory_order_relaxed) == SLOT_FREE) {
			break;
		}
		RAISE_TO(o->n_seen_slots, i + 1);
		if (!o->by_slot[i] &&
				atomic_load_explicit(&slot->state, memory_order_acquire) == SLOT_LIVE) {
			add_reader(o, i);
		}
	}
	begin_image(o);
}

bool order_is_gone(struct order *o, struct reader *r) {
	uint32_t n_images = atomic_load_explicit(&o->segment->header->n_images, memory_order_acquire);
	if (o->is_last || r->image < n_images) {
		order_set_gone(r);
	} else if (!r->is_gone && o->now_ns - r->alive_at_ns > ask_pause_ns) {
		r->alive_at_ns = o->now_ns;
		if (!o->sink.is_thread_alive(o->sink.user, r->pid, r->tid)) {
			order_set_gone(r);
		}
	}
	return r->is_gone;
}

static void add_counts(struct order_counts *c, const struct thread_slot *slot) {
	c->failed += atomic_load_explicit(&slot->failed, memory_order_relaxed);
	c->lost += atomic_load_explicit(&slot->lost, memory_order_relaxed);
	c->truncated += atomic_load_explicit(&slot->truncated, memory_order_relaxed);
	c->abandoned += atomic_load_explicit(&slot->abandoned, memory_order_relaxed);
}

struct order_counts order_counts(const struct order *o) {
	struct order_counts c = o->counts;
	c.n_live = o->n_readers;
	for (uint32_t i = 0; i < o->n_readers; i++) {
		add_counts(&c, o->readers[i]->slot);
	}
	return c;
}

static void end_thread(struct order *o, struct reader *r) {
	order_flush(o);
	o->sink.thread_ended(o->sink.user, r->thread);
	add_counts(&o->counts, r->slot);
	order_end_epoch_of(o, r);
	struct reader *last = o->readers[--o->n_readers];
	o->readers[r->index] = last;
	last->index = r->index;
	o->by_slot[r->slot_index] = NULL;
	segment_free_slot(o->segment, r->slot_index);
	free(r);
}

/** In turn through all of them, so that those not asked about for long come first. */
static void ask_some(struct order *o, bool all) {
	if (!all && o->now_ns - o->asked_ns < ask_pause_ns) {
		return;
	}
	o->asked_ns = o->now_ns;
	uint32_t n = all || o->n_readers > o->segment->n_slots / 2 || o->n_readers < ASK_AT_ONCE
			? o->n_readers
			: ASK_AT_ONCE;
	for (uint32_t i = 0; i < n; i++) {
		if (o->next_asked >= o->n_readers) {
			o->next_asked = 0;
		}
		(void)order_is_gone(o, o->readers[o->next_asked++]);
	}
}

void order_end_threads(struct order *o) {
	ask_some(o, o->is_last);
	bool has_ended = false;
	for (uint32_t i = o->n_readers; i-- > 0;) {
		struct reader *r = o->readers[i];
		if (r->is_gone && !r->is_held && order_is_drained(r)) {
			end_thread(o, r);
			has_ended = true;
		}
	}
	if (has_ended) {
		begin_image(o);
	}
}
