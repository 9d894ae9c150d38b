// SPDX-License-Identifier: MIT
/*
 * Numbers of a region are given out by the target one after the other, each to an event that has
 * reserved its entry before. They are taken in that order: regions[].turn says which is next.
 * An event whose turn it is not waits, and nobody looks at it until its turn comes: waiters are
 * hashed by (region, turn), whoever takes a number looks up the next one if the region has waiters.
 *
 * At first a whole ring waits with its next event, so that its thread's events keep their order.
 * Usually that takes as long as it takes to drain another ring; a thread that was preempted takes
 * longer, and a ring that fills up meanwhile is relieved (order_backlog.c). If patience ends, a
 * thread stands still between its number and its entry. Then the ring is *parked*: events that
 * must wait are put aside, the others go on. REALLOC, MOVED and STAYED of a reader form a chain there: none
 * leaves before the one ahead of it, because the consumer pairs them by their order.
 *
 * A number can be lost with its thread. To know so, a proof: remember how far all rings are
 * reserved; once all that is taken or parked (dead threads' unpublished entries are skipped), a
 * number for which someone waited already then and that is still missing will never come. For
 * whoever waits holds a later number of the region, so the missing one was given out before, and
 * its entry reserved before that. Threads that came later have later numbers.
 *
 *      reserved when the proof began   |
 *   ring A   # # # # #  taken or parked|. . .
 *   ring B   # # #  gone: skipped  x x |
 *   ring C   # # # # # # # # # # # # # |# #       all three: what is missing is lost
 */
#include "base/vec.h"
#include "collector/order_parts.h"

#include <stdlib.h>
#include <string.h>

enum {
	PARKED_PER_SLAB = 4096,
	FIRST_BUCKETS = 256,
	HOPELESS_ROUNDS = 16,
	LOOKS_PER_PROOF = 64,
	FORGET_LOST_AFTER = 1 << 28,
	MAX_PARKED_FOR_PROOF = 1 << 25, // with it wire/event.h's numbers are still beyond mistake
};
static const uint64_t proof_pause_ns = 1000 * 1000; // rings should have a chance to move first
static const uint64_t stale_pause_ns = 1000 * 1000 * 1000;

static uint32_t bucket_of(const struct order *o, uint32_t region, uint32_t turn) {
	return (region * 0x9E3779B1u ^ turn * 0x85EBCA77u) >> 7 & (o->n_buckets - 1);
}

bool order_numbers_init(struct order *o, struct err *err) {
	o->n_buckets = FIRST_BUCKETS;
	o->buckets = calloc(o->n_buckets, sizeof *o->buckets);
	return o->buckets || err_memory(err);
}

void order_numbers_finish(struct order *o) {
	for (size_t i = 0; i < o->slabs.n; i++) {
		free(o->slabs.items[i]);
	}
	vec_finish(&o->slabs);
	free(o->buckets);
}

// ---- who waits

static void grow_buckets(struct order *o) {
	uint32_t n_old = o->n_buckets;
	struct waiter **old = o->buckets;
	struct waiter **grown = calloc(n_old * 4ul, sizeof *grown);
	if (!grown) {
		return; // slower, but right
	}
	o->buckets = grown;
	o->n_buckets = n_old * 4;
	for (uint32_t i = 0; i < n_old; i++) {
		while (old[i]) {
			struct waiter *w = old[i];
			old[i] = w->next;
			struct waiter **bucket = &o->buckets[bucket_of(o, w->region, w->turn)];
			w->next = *bucket;
			*bucket = w;
		}
	}
	free(old);
}

static void add_waiter(struct order *o, struct waiter *w, uint32_t region, uint32_t turn) {
	if (o->n_waiters >= o->n_buckets) {
		grow_buckets(o);
	}
	struct waiter **bucket = &o->buckets[bucket_of(o, region, turn)];
	w->region = region;
	w->turn = turn;
	w->next = *bucket;
	*bucket = w;
	o->n_waiters++;
	o->regions[region].n_waiting++;
}

static void unlink_waiter(struct order *o, struct waiter **link) {
	struct waiter *w = *link;
	*link = w->next;
	o->n_waiters--;
	o->regions[w->region].n_waiting--;
}

/** Where the waiter for the region's turn hangs, or NULL. */
static struct waiter **find_turn(struct order *o, uint32_t region) {
	uint32_t turn = o->regions[region].turn;
	struct waiter **link = &o->buckets[bucket_of(o, region, turn)];
	while (*link && ((*link)->turn != turn || (*link)->region != region)) {
		link = &(*link)->next;
	}
	return *link ? link : NULL;
}

static struct waiter **link_of(struct order *o, struct waiter *w) {
	struct waiter **link = &o->buckets[bucket_of(o, w->region, w->turn)];
	while (*link != w) {
		link = &(*link)->next;
	}
	return link;
}

// ---- parking

/** The end, and a proof that can come to its end, must come through the rings at any cost. */
static bool may_park(const struct order *o, const struct reader *r) {
	return o->n_parked < o->limits.max_parked || o->is_last ||
			(o->proof.is_running && !o->proof.is_held_up && o->n_parked < MAX_PARKED_FOR_PROOF &&
					r->at[r->ring] < r->proof_end[r->ring]);
}

static struct parked *new_parked(struct order *o) {
	if (!o->unused) {
		struct parked *slab = vec_reserve(&o->slabs, 1) ? calloc(PARKED_PER_SLAB, sizeof *slab)
														: NULL;
		if (!slab) {
			return NULL;
		}
		o->slabs.items[o->slabs.n++] = slab;
		for (uint32_t i = 0; i < PARKED_PER_SLAB; i++) {
			slab[i].next = o->unused;
			o->unused = &slab[i];
		}
	}
	struct parked *p = o->unused;
	o->unused = p->next;
	return p;
}

static bool is_chain_kind(unsigned kind) {
	return kind == TRACE_REALLOC || kind == TRACE_MOVED || kind == TRACE_STAYED;
}

static bool park(struct order *o, struct reader *r, uint32_t region, uint32_t turn,
		const struct trace_event *event) {
	struct parked *p = may_park(o, r) ? new_parked(o) : NULL;
	if (!p) {
		return false;
	}
	*p = (struct parked){.reader = r, .event = *event, .is_chained = is_chain_kind(event->kind)};
	p->waiter.is_parked = true;
	add_waiter(o, &p->waiter, region, turn);
	if (p->is_chained) {
		*(r->chain_first ? &r->chain_last->next : &r->chain_first) = p;
		r->chain_last = p;
	}
	r->n_parked++;
	o->n_parked++;
	o->counts.parked++;
	return true;
}

static void add_todo(struct order *o, uint32_t *n, uint32_t region) {
	if (!o->is_todo[region]) {
		o->is_todo[region] = true;
		o->todo[(*n)++] = (uint16_t)region;
	}
}

/** Take it out of its reader's chain. What is next may have had its turn already. */
static void unchain(struct order *o, struct parked *p, uint32_t *n_todo) {
	struct reader *r = p->reader;
	struct parked **link = &r->chain_first;
	struct parked *before = NULL;
	while (*link != p) {
		before = *link;
		link = &before->next;
	}
	*link = p->next;
	if (r->chain_last == p) {
		r->chain_last = before;
	}
	if (r->chain_first) {
		add_todo(o, n_todo, r->chain_first->waiter.region);
	}
	if (r->state == READER_WAITS) {
		add_todo(o, n_todo, r->waiter.region);
	}
}

/** Hand over a parked event that hangs at `link`. Its number is taken by the caller, if at all. */
static void emit_parked(struct order *o, struct waiter **link, uint32_t *n_todo) {
	struct parked *p = (struct parked *)*link;
	unlink_waiter(o, link);
	order_emit(o, &p->event);
	if (p->is_chained) {
		unchain(o, p, n_todo);
	}
	p->reader->n_parked--;
	o->n_parked--;
	p->next = o->unused;
	o->unused = p;
}

static void release_reader(struct order *o, struct waiter **link) {
	struct reader *r = (struct reader *)*link;
	unlink_waiter(o, link);
	r->state = READER_RESTS;
	order_queue(o, r);
}

/** Pass over numbers that are lost. Where the next waiter hangs if it is its turn, or NULL. */
static struct waiter **find_next(struct order *o, uint32_t region) {
	struct region *g = &o->regions[region];
	while (g->n_waiting) {
		struct waiter **link = find_turn(o, region);
		if (link || (int32_t)(o->lost_until[region] - g->turn) <= 0) {
			return link;
		}
		g->turn++;
		o->counts.skipped_numbers++;
	}
	return NULL;
}

/** Let all go whose turn it is in this region. `force`: even if their chain says no. */
static void serve_region(struct order *o, uint32_t region, bool force, uint32_t *n_todo) {
	for (;;) {
		struct waiter **link = find_next(o, region);
		if (!link) {
			return;
		}
		if (!(*link)->is_parked) {
			release_reader(o, link);
			return;
		}
		struct parked *p = (struct parked *)*link;
		if (p->is_chained && p->reader->chain_first != p && !force) {
			return;
		}
		emit_parked(o, link, n_todo);
		o->regions[region].turn++;
		force = false;
	}
}

static void serve(struct order *o, uint32_t region, bool force) {
	uint32_t n_todo = 0;
	serve_region(o, region, force, &n_todo);
	while (n_todo > 0) {
		uint32_t next = o->todo[--n_todo];
		o->is_todo[next] = false;
		serve_region(o, next, false, &n_todo);
	}
}

void order_advance(struct order *o, uint32_t region) {
	serve(o, region, false);
}

/** Pass over up to `n` lost numbers; nobody waits for the turn itself. How many. */
static uint32_t pass_lost(struct order *o, uint32_t region, uint32_t n) {
	uint32_t passed = 0;
	while (passed < n && (int32_t)(o->lost_until[region] - o->regions[region].turn) > 0 &&
			!find_turn(o, region)) {
		o->regions[region].turn++;
		passed++;
	}
	o->counts.skipped_numbers += passed;
	return passed;
}

enum turn_answer order_ask_turn(struct order *o, struct reader *r, uint32_t region, uint32_t number,
		const struct trace_event *event, bool may_wait) {
	uint32_t turn = o->regions[region].turn;
	uint32_t ahead = (number - turn) & WIRE_NUMBER_MASK;
	bool is_behind_chain = r->chain_first && is_chain_kind(event->kind);
	if (ahead > 0 && o->lost_until[region] != turn) {
		ahead -= pass_lost(o, region, ahead);
		turn = o->regions[region].turn;
	}
	if (ahead == 0 && !is_behind_chain) {
		return TURN_NOW;
	}
	// Numbers that were not given out yet, or were taken before: scribbled memory
	uint32_t given = atomic_load_explicit(&o->segment->regions[region].next, memory_order_acquire);
	if (ahead >= given - turn) {
		return TURN_LOST;
	}
	if (r->is_parking && park(o, r, region, turn + ahead, event)) {
		return TURN_PARKED;
	}
	if (may_wait) {
		add_waiter(o, &r->waiter, region, turn + ahead);
		r->state = READER_WAITS;
		r->waits_since_ns = o->now_ns;
	}
	return TURN_WAIT;
}

// ---- what takes too long

static void begin_parking(struct order *o, struct reader *r) {
	r->is_parking = true;
	release_reader(o, link_of(o, &r->waiter));
}

/** Let readers park that waited too long, whose ring fills up for good, or that wait out of turn. */
static void lose_patience(struct order *o) {
	for (uint32_t i = 0; i < o->n_busy; i++) {
		struct reader *r = o->readers[i];
		if (r->state != READER_WAITS) {
			continue;
		}
		bool is_full = !order_relieve(o, r);
		if (may_park(o, r) &&
				(is_full || o->is_last || r->is_parking ||
						o->now_ns - r->waits_since_ns > o->limits.patience_ns)) {
			begin_parking(o, r);
		}
	}
}

static void begin_proof(struct order *o) {
	o->proof.is_running = true;
	o->proof.is_held_up = true; // until it has been looked at
	o->proof.n_looks = 0;
	o->proof.since_ns = o->now_ns;
	for (uint32_t i = 0; i < WIRE_N_REGIONS; i++) {
		o->proof.turns[i] = o->regions[i].turn;
		o->proof.given[i] = atomic_load_explicit(&o->segment->regions[i].next,
				memory_order_acquire);
	}
	// In this order: whoever took one of these numbers had a slot, and an entry in it, before
	order_find_threads(o, true);
	uint64_t n_outstanding = o->n_waiters;
	for (uint32_t i = 0; i < o->n_readers; i++) {
		struct reader *r = o->readers[i];
		for (unsigned ring = 0; ring < N_RINGS; ring++) {
			r->proof_end[ring] = order_reserved(r, ring);
			n_outstanding += r->proof_end[ring] - r->at[ring];
		}
	}
	// More numbers cannot be out, unless somebody scribbled
	for (uint32_t i = 0; i < WIRE_N_REGIONS; i++) {
		if (o->proof.given[i] - o->proof.turns[i] > n_outstanding + o->n_readers) {
			o->proof.given[i] = o->proof.turns[i] + (uint32_t)n_outstanding + o->n_readers;
		}
	}
}

static bool is_through(const struct reader *r) {
	return r->is_held ||
			(r->at[RING_SMALL] >= r->proof_end[RING_SMALL] &&
					r->at[RING_BIG] >= r->proof_end[RING_BIG]);
}

/** True if all that was reserved when the proof began is taken, parked, or will never come. */
static bool is_proven(struct order *o) {
	bool is_done = true;
	o->proof.is_held_up = false;
	for (uint32_t i = 0; i < o->n_readers; i++) {
		struct reader *r = o->readers[i];
		if (is_through(r)) {
			continue;
		}
		is_done = false;
		order_set_busy(o, r, true);
		if (r->state != READER_WAITS || !order_is_seen_through(r)) {
			o->proof.is_held_up |= !order_is_gone(o, r);
		}
	}
	return is_done;
}

/**
 * Nobody publishes any more what they wait for: it is lost, or it stands behind another's event,
 * because a handler came between a hook's entry and its number. Take such an event if there is
 * one, else park.
 */
static void untangle(struct order *o) {
	// Handlers tangle a few events. Many come loose one by one when a number is lost: park those
	bool may_look = o->proof.n_looks++ < LOOKS_PER_PROOF;
	bool has_moved = false;
	for (uint32_t i = 0; i < o->n_busy && may_look; i++) {
		struct reader *r = o->readers[i];
		has_moved |= r->state == READER_WAITS && !is_through(r) && order_look_ahead(o, r);
	}
	for (uint32_t i = 0; i < o->n_busy && !has_moved; i++) {
		struct reader *r = o->readers[i];
		if (r->state == READER_WAITS && !is_through(r) && may_park(o, r)) {
			begin_parking(o, r);
		}
	}
}

/**
 * The number is here, but the chain of its thread says no. For the length of a whole proof that
 * is only so if a handler reallocated between a realloc's entry and its number: then each stands
 * before the other.
 */
static void untangle_chain(struct order *o, uint32_t region) {
	const struct region *g = &o->regions[region];
	if (g->n_waiting > 0 && o->proof.tangled[region] == g->turn + 1) {
		serve(o, region, true);
	}
	o->proof.tangled[region] = g->n_waiting > 0 && find_turn(o, region) ? g->turn + 1 : 0;
}

/** What was given out when the proof began and is neither taken nor parked is lost. */
static void end_proof(struct order *o) {
	o->proof.is_running = false;
	for (uint32_t region = 0; region < WIRE_N_REGIONS; region++) {
		o->lost_until[region] = o->proof.given[region];
		serve(o, region, false);
	}
	for (uint32_t region = 0; region < WIRE_N_REGIONS; region++) {
		untangle_chain(o, region);
	}
}

/** Long before numbers come round to what was lost 2^32 of them ago. */
static void forget_lost(struct order *o) {
	if (o->counts.events - o->lost_kept_at < FORGET_LOST_AFTER) {
		return;
	}
	o->lost_kept_at = o->counts.events;
	for (uint32_t region = 0; region < WIRE_N_REGIONS; region++) {
		if ((int32_t)(o->lost_until[region] - o->regions[region].turn) < 0) {
			o->lost_until[region] = o->regions[region].turn;
		}
	}
}

/** No proof in all that time: go on without. What comes later comes as a stray. */
static void force(struct order *o) {
	end_proof(o);
	for (uint32_t region = 0; region < WIRE_N_REGIONS; region++) {
		if (o->regions[region].n_waiting && o->regions[region].turn == o->proof.turns[region]) {
			serve(o, region, true); // held by a chain: handlers have tangled it
		}
	}
	o->counts.forced++;
}

static bool is_hopeless(const struct order *o) {
	return o->is_last ? o->n_idle > HOPELESS_ROUNDS
					  : o->proof.is_held_up && o->now_ns - o->proof.since_ns > o->limits.force_ns;
}

/** Waiters whose turn has passed, by numbers that came twice: let them go. */
static void release_stale(struct order *o) {
	o->stale_ns = o->now_ns;
	for (uint32_t i = 0; i < o->n_buckets; i++) {
		struct waiter **link = &o->buckets[i];
		while (*link) {
			struct waiter *w = *link;
			if (w->turn - o->regions[w->region].turn <= WIRE_NUMBER_MASK) {
				link = &w->next;
			} else if (w->is_parked) {
				uint32_t n_todo = 0;
				emit_parked(o, link, &n_todo);
				while (n_todo > 0) {
					o->is_todo[o->todo[--n_todo]] = false; // a proof comes by again
				}
				o->counts.strays++;
			} else {
				release_reader(o, link);
			}
		}
	}
}

void order_mend(struct order *o) {
	forget_lost(o);
	if (o->n_waiters == 0) {
		o->proof.is_running = false;
		return;
	}
	if (o->is_last && o->n_round + o->n_batch > 0) {
		return; // nothing new can come: as long as anything goes, it goes in order
	}
	bool is_proven_now = o->proof.is_running && is_proven(o); // as long as they still wait
	lose_patience(o);
	if (!o->proof.is_running) {
		if (o->is_last || o->now_ns - o->proof.since_ns > proof_pause_ns) {
			begin_proof(o);
		}
		return;
	}
	if (is_hopeless(o)) {
		force(o);
	} else if (is_proven_now) {
		end_proof(o);
	} else if (!o->proof.is_held_up) {
		untangle(o);
	}
	if (o->is_last || o->now_ns - o->stale_ns > stale_pause_ns) {
		release_stale(o);
	}
}
