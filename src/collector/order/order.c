// SPDX-License-Identifier: MIT
/*
 * A round takes all events that are older than everything that may still come.
 *
 * It takes a stamp, the horizon, and then looks how far each ring is reserved. Whoever has an older
 * stamp had reserved its entry before: so all older entries are there to be seen, and none can come
 * later. They leave in the order of their stamps (merge.c). Epochs stand above stamps (epoch.c):
 * the two together are the key of an event.
 */
#include "collector/order/order.h"

#include "collector/order/parts.h"

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
	o->epoch_most = 2; // its first thread's, and what the second makes of it
	o->limits.force_ns = o->limits.force_ns ? o->limits.force_ns : 10000000000u;
	o->by_slot = calloc(segment->n_slots, sizeof(struct reader *));
	o->readers = calloc(segment->n_slots, sizeof(struct reader *));
	o->turns = calloc(segment->n_slots, sizeof *o->turns);
	if (!o->by_slot || !o->readers || !o->turns) {
		(void)err_memory(err);
		order_destroy(o);
		return NULL;
	}
	return o;
}

void order_destroy(struct order *o) {
	if (!o) {
		return;
	}
	for (uint32_t i = 0; i < o->n_readers; i++) {
		free(o->readers[i]);
	}
	free(o->by_slot);
	free(o->readers);
	free(o->turns);
	free(o);
}

static void note_progress(struct order *o) {
	const struct order_counts *c = &o->counts;
	uint64_t progress = c->events + c->unpublished;
	o->n_idle = progress == o->progress ? o->n_idle + 1 : 0;
	o->progress = progress;
}

bool order_round(struct order *o, uint64_t now_ns, size_t *n_events, struct err *err) {
	o->n_round = 0;
	o->now_ns = now_ns;
	o->label_now_ns = now_ns - o->segment->start_ns;

	uint64_t newest = order_take_horizon(o);
	order_find_threads(o);
	order_look_at_all(o, newest);
	order_merge(o);
	order_note_through(o);
	order_see_epoch(o);
	order_flush(o);
	order_end_threads(o);
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

bool order_is_behind(const struct order *o) {
	bool waits = o->n_held > 0 || o->n_left > 0 || o->next.epoch != o->epoch;
	for (uint32_t i = 0; i < o->n_readers && !waits; i++) {
		waits = o->readers[i]->is_held;
	}
	return waits;
}

uint64_t order_rest_ns(const struct order *o) {
	const uint64_t while_waiting_ns = 200 * 1000, usual_ns = 50 * 1000 * 1000;
	return o->n_held > 0 || o->n_left > 0 ? while_waiting_ns : usual_ns;
}

bool order_finish(struct order *o, uint64_t now_ns, struct err *err) {
	enum { IDLE_ROUNDS = 4, IDLE_MAX = 64 };
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
