// SPDX-License-Identifier: MIT
/*
 * A round takes all events that are older than everything that may still come.
 *
 * It takes a stamp, the horizon, and then looks how far each ring is reserved. Whoever has an older
 * stamp had reserved its entry before: so all older entries are there to be seen, and none can come
 * later. They leave in the order of their stamps. Epochs stand above stamps (epoch.c): the two
 * together are the key of an event.
 *
 * The reader with the lowest key is drained up to the key of the next one.
 *
 *                        horizon
 *   ring A   1 4 5 7 9  |  12 13      handed over: 1 2 3 4 5 6 7 8 9; what is younger waits
 *   ring B   2 3 8      |             for the next round
 *   ring C   6 .  10    |             . is reserved and not published: had it stood before 10
 *                                     since the last round, only 1 to 6 could leave
 *
 * A reader whose next entry is not published holds all others up, except for events older than any
 * that it may still write: everything that was reserved when an earlier horizon was taken, and is
 * published by now, was all there was before that horizon.
 */
#include "collector/order/order.h"

#include "collector/order/parts.h"

enum { SPINS = 16 }; // a running thread publishes what it reserved in some ns

// ---- whose turn it is

static void sift_down(struct order *o, uint32_t i, struct turn turn) {
	struct turn *turns = o->turns;
	for (uint32_t k = 2 * i + 1; k < o->n_turns; k = 2 * i + 1) {
		k += k + 1 < o->n_turns && turns[k + 1].key < turns[k].key;
		if (turns[k].key >= turn.key) {
			break;
		}
		turns[i] = turns[k];
		i = k;
	}
	turns[i] = turn;
}

static void add_turn(struct order *o, struct reader *r) {
	uint32_t i = o->n_turns++;
	for (; i > 0 && o->turns[(i - 1) / 2].key > r->key; i = (i - 1) / 2) {
		o->turns[i] = o->turns[(i - 1) / 2];
	}
	o->turns[i] = (struct turn){r->key, r};
}

/** The lowest key of all but the first. */
static order_key next_key(const struct order *o) {
	order_key a = o->n_turns > 1 ? o->turns[1].key : ORDER_KEY_MAX;
	order_key b = o->n_turns > 2 ? o->turns[2].key : ORDER_KEY_MAX;
	return a < b ? a : b;
}

// ---- who holds up the others

/** Does it hold up the others too long? They need room, or it does not run. */
static bool is_out_of_patience(struct order *o, const struct reader *r) {
	uint64_t held_ns = o->now_ns - r->held_since_ns;
	return held_ns > o->limits.force_ns ||
			(held_ns > o->limits.patience_ns && o->is_crowded &&
					!o->sink.is_thread_running(r->source->user, r->pid, r->tid));
}

static void hold_up(struct order *o, struct reader *r) {
	if (r->held_since_ns == 0) {
		r->held_since_ns = o->now_ns;
	} else if (!r->is_passed && is_out_of_patience(o, r)) {
		r->is_passed = true;
		o->counts.forced++;
	}
	if (!r->is_passed) {
		order_key until = order_key_of(r->epoch, 0); // it has named this epoch
		until = r->key > until ? r->key : until;
		until = r->through > until ? r->through : until;
		o->limit = until < o->limit ? until : o->limit;
	}
	o->n_held++;
}

/** Decide on a reader that came this far. */
static void come_to(struct order *o, struct reader *r, enum order_next next) {
	for (unsigned i = 0; next == NEXT_HELD && i < SPINS; i++) {
		__builtin_ia32_pause();
		next = order_peek(o, r);
	}
	if (next == NEXT_HELD && order_is_gone(o, r)) {
		next = order_peek(o, r);
	}
	r->has_event = next == NEXT_EVENT;
	if (next == NEXT_HELD) {
		hold_up(o, r);
		return;
	}
	r->held_since_ns = 0;
	r->is_passed = false;
	if (next == NEXT_EVENT) {
		add_turn(o, r);
	}
}

// ---- the steps of a round

/** A key found in an earlier round cannot be in the future: memory was overwritten. */
static void check_key(struct order *o, struct reader *r, uint64_t newest) {
	if (r->has_event && r->epoch > o->newest_epoch) {
		o->counts.bad_entries++;
		r->epoch = o->newest_epoch;
	}
	if (r->has_event && (uint64_t)r->key > newest) {
		o->counts.bad_entries++;
		r->base = newest - (1ull << WIRE_STAMP_BITS);
	}
}

/** An image that has not begun: what other processes do after its first event must wait. */
static void await_image(struct order *o, struct reader *r) {
	struct source *s = r->source;
	s->held_since_ns = s->held_since_ns ? s->held_since_ns : o->now_ns;
	if (o->sources.n > 1 && o->now_ns - s->held_since_ns <= o->limits.patience_ns) {
		order_look(o, r);
		if (order_peek(o, r) == NEXT_EVENT && r->key <= o->limit) {
			o->limit = r->key - 1;
		}
	}
}

/** See what is there, and who holds up the others. `newest`: from order_take_horizon. */
static void look_at_all(struct order *o, uint64_t newest) {
	o->n_turns = 0;
	o->n_held = 0;
	o->is_crowded = false;
	for (uint32_t i = 0; i < o->readers.n; i++) {
		struct reader *r = o->readers.items[i];
		if (!r->is_held) {
			check_key(o, r, newest);
			order_look(o, r);
		}
	}
	for (uint32_t i = 0; i < o->readers.n; i++) {
		struct reader *r = o->readers.items[i];
		if (r->is_held) {
			await_image(o, r);
		} else if (!order_is_drained(r)) {
			come_to(o, r, order_peek(o, r));
		}
	}
}

/**
 * How far the reader with the lowest key is drained. What a process with one thread does is ordered
 * by its ring, and needs no exact place among what others do: so there are fewer turns.
 */
static order_key drain_limit(const struct order *o, const struct reader *r) {
	order_key next = next_key(o);
	bool is_apart = next < o->limit && r->source->n_readers == 1 && o->counted_ns == 0;
	next += is_apart ? ORDER_APART : 0;
	return next < o->limit ? next : o->limit;
}

/** An event too late for its place, since the others no longer waited, is handed over alone. */
static order_key limit_of_late(struct order *o, const struct reader *r, order_key limit) {
	bool is_late = r->key < r->source->reached;
	order_set_late(o, is_late);
	o->counts.late += is_late;
	return is_late ? r->key : limit;
}

/** Hand over the events of all readers up to the limit, in order. */
static void merge(struct order *o) {
	while (o->n_turns > 0 && o->turns[0].key <= o->limit) {
		struct reader *r = o->turns[0].reader;
		order_key limit = limit_of_late(o, r, drain_limit(o, r));
		if (o->busy != r) {
			o->busy = r;
			o->busy_since_ns = o->now_ns;
			o->busy_from = r->at[RING_SMALL] + r->at[RING_BIG];
		}
		enum order_next next = order_drain(o, r, limit);
		if (next == NEXT_EVENT) {
			sift_down(o, 0, (struct turn){r->key, r});
		} else {
			if (--o->n_turns > 0) {
				sift_down(o, 0, o->turns[o->n_turns]);
			}
			come_to(o, r, next);
		}
	}
	order_set_late(o, false);
}

/**
 * Note how far each reader came, and tell the threads about room in their rings. All events before
 * the horizon are taken, except those that an unpublished entry holds up.
 */
static void note_through(struct order *o) {
	o->n_left = o->n_turns;
	for (uint32_t i = 0; i < o->readers.n; i++) {
		struct reader *r = o->readers.items[i];
		if (r->held_since_ns == 0 && (!r->has_event || r->key > o->horizon)) {
			r->through = o->horizon;
		} else if (r->is_passed) {
			order_look_behind(o, r);
		}
		order_tell_taken(r);
	}
}

// ---- rounds

size_t order_round(struct order *o, uint64_t now_ns) {
	o->n_round = 0;
	o->now_ns = now_ns;
	o->label_now_ns = now_ns - o->start_ns;

	uint64_t newest = order_take_horizon(o);
	order_find_threads(o);
	look_at_all(o, newest);
	merge(o);
	note_through(o);
	order_see_epoch(o);
	order_flush(o);
	order_end_threads(o);
	uint64_t progress = o->counts.events + o->counts.unpublished;
	o->n_idle = progress == o->progress ? o->n_idle + 1 : 0;
	o->progress = progress;

	return o->n_round;
}

bool order_is_behind(const struct order *o) {
	return o->n_held > 0 || o->n_left > 0 || o->next.epoch != o->epoch ||
			ANY(i, o->readers.n, o->readers.items[i]->is_held);
}

uint64_t order_rest_ns(const struct order *o) {
	const uint64_t while_waiting_ns = 200 * 1000, usual_ns = 50 * 1000 * 1000;
	return o->n_held > 0 || o->n_left > 0 ? while_waiting_ns : usual_ns;
}

void order_finish(struct order *o, uint64_t now_ns) {
	enum { IDLE_ROUNDS = 4, IDLE_MAX = 64 };
	o->is_last = true;
	o->n_idle = 0;
	while (o->n_idle < IDLE_ROUNDS || (o->readers.n > 0 && o->n_idle < IDLE_MAX)) {
		(void)order_round(o, now_ns);
	}
}

// ---- begin and end

void order_add(struct order *o, struct segment *segment, struct tries *tries, void *user) {
	struct source *s = memory_new(1, sizeof *s + segment->n_slots * sizeof *s->by_slot);
	s->segment = segment;
	s->tries = tries;
	s->user = user;
	(void)vec_add(&o->sources, s);
}

bool order_remove(struct order *o, const struct segment *segment) {
	struct source **at = FIND_IN(s, o->sources, (*s)->segment == segment);
	if (!at || (*at)->n_readers > 0) {
		return false;
	}
	free(*at);
	*at = o->sources.items[--o->sources.n];
	return true;
}

struct order *order_create(struct segment *segment, struct tries *tries,
		const struct order_sink *sink, const struct order_limits *limits) {
	struct order *o = memory_new(1, sizeof *o);
	o->common = segment->common;
	o->start_ns = segment->start_ns;
	o->sink = *sink;
	o->limits = limits ? *limits : (struct order_limits){0};
	o->limits.patience_ns = o->limits.patience_ns ? o->limits.patience_ns : 100000000u;
	o->epoch_most = 2; // its first thread's, and the one the second thread makes of it
	o->limits.force_ns = o->limits.force_ns ? o->limits.force_ns : 10000000000u;
	order_add(o, segment, tries, sink->user);
	return o;
}

void order_destroy(struct order *o) {
	if (!o) {
		return;
	}
	EACH(r, o->readers) {
		free(*r);
	}
	EACH(s, o->sources) {
		free(*s);
	}
	CALL_FOR(vec_finish, o, readers, sources);
	free(o->turns);
	free(o);
}
