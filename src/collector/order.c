// SPDX-License-Identifier: MIT
/*
 * A round: poll the readers that rest, then drain those that have something, the one with the
 * earliest label first, and stay with it as long as no other is earlier. Labels are coarse
 * (the target reads our tick), so many readers share one: those at the clock stand in a queue,
 * only those ahead of it in a heap. A reader that waits for another's number is in neither; whoever
 * takes the number before queues it (order_numbers.c).
 */
#include "collector/order.h"

#include "base/vec.h"
#include "collector/order_parts.h"

#include <stdlib.h>

enum {
	ROUND_MAX = 1 << 20,
	LABEL_SLACK_NS = 100 * 1000 * 1000, // of clocks; a label further ahead than that is nonsense
};

struct order *order_create(struct segment *segment, struct tries *tries,
		const struct order_sink *sink, const struct order_limits *limits, struct err *err) {
	struct order *o = calloc(1, sizeof *o);
	if (!o) {
		(void)err_memory(err);
		return NULL;
	}
	o->segment = segment;
	o->tries = tries;
	o->sink = *sink;
	o->limits = limits ? *limits : (struct order_limits){0};
	o->limits.patience_ns = o->limits.patience_ns ? o->limits.patience_ns : 100000000u;
	o->limits.force_ns = o->limits.force_ns ? o->limits.force_ns : 10000000000u;
	o->limits.max_backlog = o->limits.max_backlog ? o->limits.max_backlog : 1u << 22;
	o->limits.max_parked = o->limits.max_parked ? o->limits.max_parked : 1u << 19;
	o->by_slot = calloc(segment->n_slots, sizeof(struct reader *));
	o->readers = calloc(segment->n_slots, sizeof(struct reader *));
	if (!o->by_slot || !o->readers) {
		(void)err_memory(err);
		goto fail;
	}
	if (!order_numbers_init(o, err)) {
		goto fail;
	}
	return o;

fail:
	order_destroy(o);
	return NULL;
}

void order_destroy(struct order *o) {
	if (!o) {
		return;
	}
	for (uint32_t i = 0; i < o->n_readers; i++) {
		order_drop_backlog(o, o->readers[i]);
		free(o->readers[i]);
	}
	order_numbers_finish(o);
	free(o->by_slot);
	free(o->readers);
	vec_finish(&o->ahead);
	free(o);
}

void order_fail(struct order *o, const struct err *err) {
	if (!o->has_failed) {
		o->err = *err;
		o->has_failed = true;
	}
}

void order_flush(struct order *o) {
	uint32_t n = o->n_batch;
	o->n_batch = 0;
	if (n == 0 || o->has_failed) {
		return;
	}
	struct err err = {0};
	if (!o->sink.events(o->sink.user, o->batch, n, &err)) {
		order_fail(o, &err);
		return;
	}
	o->counts.events += n;
	o->n_round += n;
}

// ---- readers ahead of the clock

static void heap_swap(struct reader_heap *h, size_t i, size_t k) {
	struct reader *r = h->items[i];
	h->items[i] = h->items[k];
	h->items[k] = r;
}

static bool heap_push(struct reader_heap *h, struct reader *r) {
	if (!vec_reserve(h, 1)) {
		return false;
	}
	size_t i = h->n++;
	h->items[i] = r;
	while (i > 0 && h->items[(i - 1) / 2]->label_ns > h->items[i]->label_ns) {
		heap_swap(h, i, (i - 1) / 2);
		i = (i - 1) / 2;
	}
	return true;
}

static struct reader *heap_pop(struct reader_heap *h) {
	struct reader *first = h->items[0];
	h->items[0] = h->items[--h->n];
	for (size_t i = 0;;) {
		size_t least = i;
		for (size_t k = 2 * i + 1; k <= 2 * i + 2 && k < h->n; k++) {
			least = h->items[k]->label_ns < h->items[least]->label_ns ? k : least;
		}
		if (least == i) {
			return first;
		}
		heap_swap(h, i, least);
		i = least;
	}
}

// ---- who is next

static void enqueue(struct order *o, struct reader *r) {
	r->state = READER_QUEUED;
	r->next_queued = NULL;
	*(o->queue_first ? &o->queue_last->next_queued : &o->queue_first) = r;
	o->queue_last = r;
}

void order_queue(struct order *o, struct reader *r) {
	order_set_busy(o, r, true);
	r->quiet_rounds = 0;
	r->state = READER_RESTS;
	if (r->label_ns <= o->clock_ns) {
		enqueue(o, r);
	} else if (r->label_ns <= o->horizon_ns) {
		if (heap_push(&o->ahead, r)) {
			r->state = READER_AHEAD;
		} else {
			enqueue(o, r); // no memory: out of time, but not lost
		}
	} // else it rests until our clock is there
}

bool order_may_go_on(struct order *o, uint64_t label_ns) {
	if (label_ns <= o->clock_ns) {
		return true;
	}
	if (o->queue_first || label_ns > o->horizon_ns ||
			(o->ahead.n > 0 && o->ahead.items[0]->label_ns < label_ns)) {
		return false;
	}
	o->clock_ns = label_ns;
	return true;
}

static struct reader *next_reader(struct order *o) {
	if (!o->queue_first && o->ahead.n > 0) {
		o->clock_ns = o->ahead.items[0]->label_ns;
		while (o->ahead.n > 0 && o->ahead.items[0]->label_ns <= o->clock_ns) {
			enqueue(o, heap_pop(&o->ahead));
		}
	}
	struct reader *r = o->queue_first;
	if (r) {
		o->queue_first = r->next_queued;
	}
	return r;
}

static void poll(struct order *o, uint32_t n) {
	for (uint32_t i = n; i-- > 0;) {
		struct reader *r = o->readers[i];
		if (r->state != READER_RESTS || r->is_held || !order_has_more(r)) {
			continue;
		}
		if (r->label_ns > o->label_now_ns + LABEL_SLACK_NS) {
			r->label_ns = o->label_now_ns;
			o->counts.bad_entries++;
		}
		order_queue(o, r);
	}
}

static void tell_all(struct order *o) {
	for (uint32_t i = 0; i < o->n_busy; i++) {
		struct reader *r = o->readers[i];
		order_tell_taken(r);
		if (r->backlog.entries && r->at[RING_BIG] >= r->backlog.end) {
			order_drop_backlog(o, r);
		}
	}
}

static void take_all(struct order *o) {
	for (uint64_t work = 0; work < ROUND_MAX && !o->has_failed;) {
		struct reader *r = next_reader(o);
		if (!r) {
			return;
		}
		work += order_drain(o, r);
	}
}

static void note_progress(struct order *o) {
	const struct order_counts *c = &o->counts;
	uint64_t progress = c->events + c->parked + c->skipped_numbers + c->unpublished;
	o->n_idle = progress == o->progress ? o->n_idle + 1 : 0;
	o->progress = progress;
}

bool order_round(struct order *o, uint64_t now_ns, size_t *n_events, struct err *err) {
	bool was_idle = o->n_round == 0;
	o->n_round = 0;
	o->now_ns = now_ns;
	o->label_now_ns = now_ns - o->segment->start_ns;
	o->horizon_ns = o->is_last ? UINT64_MAX : o->label_now_ns;

	order_find_threads(o, was_idle || o->is_last);
	bool all = was_idle || o->n_waiters > 0 || o->is_last;
	poll(o, all ? o->n_readers : o->n_busy);
	take_all(o);
	order_mend(o);
	take_all(o);
	order_flush(o);
	tell_all(o);
	order_end_threads(o, o->is_last);
	note_progress(o);

	*n_events = o->n_round;
	if (o->has_failed) {
		if (err) {
			*err = o->err;
		}
		return false;
	}
	return true;
}

uint64_t order_rest_ns(const struct order *o) {
	const uint64_t while_waiting_ns = 200 * 1000, usual_ns = 50 * 1000 * 1000;
	return o->n_waiters > 0 || o->queue_first || o->ahead.n > 0 ? while_waiting_ns : usual_ns;
}

bool order_finish(struct order *o, uint64_t now_ns, struct err *err) {
	enum { IDLE_ROUNDS = 4, IDLE_MAX = 64 }; // a proof takes two rounds
	o->is_last = true;
	o->n_idle = 0;
	while (o->n_idle < IDLE_ROUNDS || (o->n_readers > 0 && o->n_idle < IDLE_MAX)) {
		size_t n;
		if (!order_round(o, now_ns, &n, err)) {
			return false;
		}
	}
	return true;
}
