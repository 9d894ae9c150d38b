// SPDX-License-Identifier: MIT
/*
 * Which threads exist and which are gone, from slots to readers. Slots are claimed from low to high
 * (wire/segment.h: slot_hint), so the used ones are a prefix; the rest is never touched, as reading
 * costs memory. Slots are searched when another was claimed, and now and then.
 *
 * A slot is freed once its thread is gone (as the sink says, or another thread has its tid, or
 * another program runs in its process) and its rings are drained.
 */
#include "collector/order/parts.h"

enum { ASK_AT_ONCE = 256 };
static const uint64_t search_pause_ns = 5 * 1000 * 1000;
static const uint64_t ask_pause_ns = 10 * 1000 * 1000;

static void introduce(struct order *o, struct reader *r) {
	const struct order_thread thread = {
			FIELDS_OF(r, tid, pid, image),
			.slot = r->slot_index,
			.time_ns = o->label_now_ns,
	};
	r->thread = o->sink.thread(r->source->user, &thread);
	r->is_held = false;
	o->counts.n_threads++;
}

static void add_reader(struct order *o, struct source *s, uint32_t index) {
	struct reader *r = memory_new(1, sizeof *r);
	r->index = (uint32_t)o->readers.n;
	(void)vec_add(&o->readers, r);
	(void)vec_grow((void **)&o->turns, &o->turn_room, 0, o->readers.n, sizeof *o->turns);
	r->source = s;
	r->slot = segment_slot(s->segment, index);
	for (unsigned ring = 0; ring < N_RINGS; ring++) {
		r->entries[ring] = (struct wire_event *)(void *)((uint8_t *)r->slot + wire_ring_at(ring));
	}
	r->slot_index = index;
	r->owner = s->segment->first_owner + index + 1;
	COPY_FIELDS(r, r->slot, tid, pid, image);
	r->alive_at_ns = o->now_ns;
	s->n_readers++;
	s->by_slot[index] = r;
	struct reader **other = FIND_IN(at, o->readers,
			*at != r && (*at)->source == r->source && (*at)->tid == r->tid &&
					(*at)->pid == r->pid && !(*at)->is_gone);
	if (other) {
		order_set_gone(*other);
	}
	r->is_held = true;
	if (r->image <= s->image) {
		introduce(o, r);
	}
}

/** The next image begins once all threads of the one before have ended. */
static void begin_image(struct order *o, struct source *s) {
	uint32_t next = UINT32_MAX;
	EACH(at, o->readers) {
		const struct reader *r = *at;
		if (r->source == s && !r->is_held) {
			return;
		}
		next = r->source == s && r->image < next ? r->image : next;
	}
	if (s->n_readers == 0) {
		return;
	}
	order_flush(o);
	if (s->image != 0) {
		o->sink.image(s->user, next);
	}
	s->image = next;
	s->held_since_ns = 0;
	EACH_THAT(r, o->readers, (*r)->source == s && (*r)->image == next) {
		introduce(o, *r);
	}
}

static void find_threads_of(struct order *o, struct source *s) {
	const struct segment_header *h = s->segment->header;
	// In this order: a thread with an event before the horizon counted itself before that
	uint32_t n_claims = atomic_load_explicit(&h->n_claims, memory_order_acquire);
	if (n_claims == s->seen_claims && o->now_ns - s->searched_ns < search_pause_ns && !o->is_last) {
		return;
	}
	uint32_t hint = atomic_load_explicit(&h->slot_hint, memory_order_acquire);
	s->seen_claims = n_claims;
	s->searched_ns = o->now_ns;
	for (uint32_t i = 0; i < s->segment->n_slots; i++) {
		struct thread_slot *slot = segment_slot(s->segment, i);
		if (i >= s->n_seen_slots && i >= hint &&
				atomic_load_explicit(&slot->state, memory_order_relaxed) == SLOT_FREE) {
			break;
		}
		RAISE_TO(s->n_seen_slots, i + 1);
		if (!s->by_slot[i] &&
				atomic_load_explicit(&slot->state, memory_order_acquire) == SLOT_LIVE) {
			add_reader(o, s, i);
		}
	}
	begin_image(o, s);
}

void order_find_threads(struct order *o) {
	if (o->sink.find_segments) {
		o->sink.find_segments(o->sink.user);
	}
	EACH(s, o->sources) {
		find_threads_of(o, *s);
	}
}

bool order_is_gone(struct order *o, struct reader *r) {
	const struct source *s = r->source;
	uint32_t n_images = atomic_load_explicit(&s->segment->header->n_images, memory_order_acquire);
	if (o->is_last || r->image < n_images) {
		order_set_gone(r);
	} else if (!r->is_gone && o->now_ns - r->alive_at_ns > ask_pause_ns) {
		r->alive_at_ns = o->now_ns;
		if (!o->sink.is_thread_alive(s->user, r->pid, r->tid)) {
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
	c.n_live = (uint32_t)o->readers.n;
	EACH(r, o->readers) {
		add_counts(&c, (*r)->slot);
	}
	return c;
}

static void end_thread(struct order *o, struct reader *r) {
	order_flush(o);
	o->sink.thread_ended(r->source->user, r->thread);
	add_counts(&o->counts, r->slot);
	order_end_epoch_of(o, r);
	struct reader *last = o->readers.items[--o->readers.n];
	o->readers.items[r->index] = last;
	last->index = r->index;
	r->source->by_slot[r->slot_index] = NULL;
	r->source->n_readers--;
	segment_free_slot(r->source->segment, r->slot_index);
	free(r);
}

/** Round-robin, so that those not asked for long come first. */
static void ask_some(struct order *o, bool all) {
	if (!all && o->now_ns - o->asked_ns < ask_pause_ns) {
		return;
	}
	o->asked_ns = o->now_ns;
	size_t n = o->readers.n;
	if (!all && n <= o->sources.items[0]->segment->n_slots / 2) {
		LOWER_TO(n, ASK_AT_ONCE);
	}
	for (size_t i = 0; i < n; i++) {
		if (o->next_asked >= o->readers.n) {
			o->next_asked = 0;
		}
		(void)order_is_gone(o, o->readers.items[o->next_asked++]);
	}
}

void order_end_threads(struct order *o) {
	ask_some(o, o->is_last);
	for (size_t i = o->readers.n; i-- > 0;) {
		struct reader *r = o->readers.items[i];
		if (r->is_gone && !r->is_held && order_is_drained(r)) {
			r->source->has_ended = true;
			end_thread(o, r);
		}
	}
	EACH_THAT(s, o->sources, (*s)->has_ended) {
		(*s)->has_ended = false;
		begin_image(o, *s);
	}
}
