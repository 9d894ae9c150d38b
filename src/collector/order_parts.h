// SPDX-License-Identifier: MIT
#pragma once

/**
 * What the three files of the order share; nobody else includes this.
 *
 *   order_threads.c   slots -> readers: who is there, who is gone
 *   order_rings.c     a reader's rings -> its next event
 *   order.c           rounds: the horizon, the merge, and the batch that leaves
 */

#include "base/attr.h"
#include "collector/order.h"

enum { ORDER_BATCH = 512 };

/** One slot in use: a thread, as seen from here. */
struct reader {
	struct thread_slot *slot;
	struct wire_event *entries[N_RINGS];
	uint64_t at[N_RINGS];   // next entry to take
	uint64_t told[N_RINGS]; // what `taken` was set to
	uint64_t end
			[N_RINGS]; // reserved, as of this round's horizon: of a thread that is gone, for good
	uint64_t base;     // the last whole stamp of its ring; 0: there was none, its events have none
	uint64_t stamp; // of its next event, where that is known; of its last one, while it is held up
	uint64_t through; // all its events with older stamps are published: a horizon of before
	uint64_t label_ns;
	uint64_t held_since_ns; // its next entry is reserved and not published; 0: it is not held up
	uint64_t alive_at_ns;   // when that was last asked
	uint32_t slot_index;
	uint32_t thread; // the sink's id
	uint32_t tid, pid, image;
	uint32_t index;  // in order.readers
	uint8_t ring;    // RING_SMALL until it is drained
	bool is_gone;    // its thread is: what is not published will never be
	bool is_held;    // belongs to an image that has not begun
	bool is_passed;  // the others do not wait for what holds it up any more
	bool has_event;  // `stamp` is of its next event: found in an earlier round, too young for it
	bool has_thread; // the sink knows it
};

/** A reader that has an event, by its stamp. */
struct turn {
	uint64_t stamp;
	struct reader *reader;
};

struct order {
	struct segment *segment;
	struct tries *tries;
	struct order_sink sink;
	struct order_limits limits;
	uint64_t now_ns;       // CLOCK_MONOTONIC, of this round
	uint64_t label_now_ns; // the same as a label
	bool is_last;          // the process is gone
	struct order_counts counts;
	uint32_t image;

	// threads
	struct reader **by_slot; // n_slots
	struct reader **readers; // compact
	uint32_t n_readers;
	uint32_t n_seen_slots; // slots below were in use at least once
	uint32_t seen_claims;
	uint32_t next_asked; // whom to ask next whether it lives
	uint64_t searched_ns, asked_ns;

	// merge
	uint64_t horizon;    // events with older stamps are in the rings, or reserved there
	uint64_t limit;      // the same, as far as nobody is held up
	uint64_t row;        // the youngest stamp that was handed over
	uint64_t counted_ns; // when stamps were first seen to be counted; 0: they are the clock's
	struct turn *turns;  // a heap of n_turns
	uint32_t n_turns;
	uint32_t n_held, n_left; // readers held up, and those with events beyond the horizon
	bool is_crowded;         // a ring is filling up
	bool is_late;            // what is handed over now comes too late for its place in the row

	// what leaves
	struct trace_event batch[ORDER_BATCH];
	uint32_t n_batch;
	size_t n_round;
	uint64_t progress; // sum of all that a round may bring, as of the last one
	uint32_t n_idle;   // rounds that brought nothing of it, up to now
	bool has_failed;
	struct err err;
};

// ---- order.c

/** Hand over what the batch holds. */
void order_flush(struct order *o);

/** From now on, or no longer, events come late. */
void order_set_late(struct order *o, bool is_late);

/** Where the next events of the row go, room for at least one. order_commit says how far. */
static inline struct trace_event *order_room(struct order *o) {
	if (UNLIKELY(o->n_batch == ORDER_BATCH)) {
		order_flush(o);
	}
	return &o->batch[o->n_batch];
}

static inline void order_commit(struct order *o, const struct trace_event *end) {
	o->n_batch = (uint32_t)(end - o->batch);
}

/** The next event of the row. */
static inline void order_emit(struct order *o, const struct trace_event *event) {
	struct trace_event *out = order_room(o);
	*out = *event;
	order_commit(o, out + 1);
}

void order_fail(struct order *o, const struct err *err);

// ---- order_threads.c

/** Find new threads: all whose events have stamps before the horizon. */
void order_find_threads(struct order *o);

/** Ask for some threads whether they live, and end those that are gone and drained. */
void order_end_threads(struct order *o);

/** True if `r` is known to be gone now. Asks at most every few ms. */
bool order_is_gone(struct order *o, struct reader *r);

// ---- order_rings.c

/** What comes next in a reader's rings. */
enum order_next {
	NEXT_EVENT, // reader.stamp is its stamp
	NEXT_DRY,   // nothing that was reserved before the horizon
	NEXT_HELD,  // it is reserved, and not published
};

/** See how far the rings are reserved. True: there is something to take. */
bool order_look(struct order *o, struct reader *r);

/** Find the next event. */
enum order_next order_peek(struct order *o, struct reader *r);

/** Hand over all events up to this stamp, and find the next one. */
enum order_next order_drain(struct order *o, struct reader *r, uint64_t limit);

/** Hand over what stands published behind the entry that holds a reader up. */
void order_look_behind(struct order *o, struct reader *r);

/** The reader's thread will write no more. */
void order_set_gone(struct reader *r);

/** Let the owner know of the room, if there is something new to say. */
void order_tell_taken(struct reader *r);

/** True if nothing is left in the rings of a thread that is gone. */
static inline bool order_is_drained(const struct reader *r) {
	return r->at[RING_SMALL] == r->end[RING_SMALL] && r->at[RING_BIG] == r->end[RING_BIG];
}
