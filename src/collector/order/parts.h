// SPDX-License-Identifier: MIT
#pragma once

/**
 * What the four files of the order share; nobody else includes this.
 *
 *   order/epoch.c     whose epoch it is, which are complete, and who may have the next
 *   order/threads.c   slots -> readers: who is there, who is gone
 *   order/rings.c     a reader's rings -> its next event
 *   order/order.c     rounds: the horizon, the merge, and the batch that leaves
 */

#include "base/attr.h"
#include "collector/order/order.h"

enum {
	ORDER_BATCH = 512,
	// A processor's stores are seen by others a little after its clock, or what others wrote, has
	// been read (nothing drains them in between): some ns, here taken for 20 us or more
	ORDER_SLACK = 1 << 16,
};

/** The place of an event in the row: its epoch (wire/segment.h), and below that its stamp or 0. */
typedef unsigned __int128 order_key;
#define ORDER_KEY_MAX (~(order_key)0)

static inline order_key order_key_of(uint64_t epoch, uint64_t stamp) {
	return (order_key)epoch << 64 | stamp;
}

static inline uint64_t order_key_epoch(order_key key) {
	return (uint64_t)(key >> 64);
}

/** One slot in use: a thread, as seen from here. */
struct reader {
	struct thread_slot *slot;
	struct wire_event *entries[N_RINGS];
	uint64_t at[N_RINGS];   // next entry to take
	uint64_t told[N_RINGS]; // what `taken` was set to
	uint64_t end
			[N_RINGS]; // reserved, as of this round's horizon: of a thread that is gone, for good
	order_key key; // of its next event, where that is known; of its last one, while it is held up
	order_key through; // all its events with lower keys are published: a horizon of before
	uint64_t epoch;    // the last that its ring has named
	uint64_t base;     // the last whole stamp of that; 0: there was none, its events have none
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
	bool has_event;  // `key` is of its next event: found in an earlier round, too young for it
	bool has_thread; // the sink knows it
};

/** A reader that has an event, by its key. */
struct turn {
	order_key key;
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

	// epochs
	uint64_t epoch;        // all before are complete: who has events in them has reserved them
	uint64_t newest_epoch; // seen in the header
	uint64_t epoch_most;   // the highest number that it can have
	struct {
		uint64_t epoch;                    // that which is complete next; none: order.epoch
		uint64_t stamp;                    // when it was seen, if stamps are the clock's
		uint64_t round_ns, later_round_ns; // order.now_ns of the round that saw it, and one after
	} next;
	struct reader *busy;    // has had all events since
	uint64_t busy_since_ns; // ... then, and
	uint64_t busy_from;     // ... this entry

	// merge
	order_key horizon;   // events with lower keys are in the rings, or reserved there
	order_key limit;     // the same, as far as nobody is held up
	order_key row;       // the highest that was handed over
	uint64_t settled;    // all with older stamps in the present epoch have been reserved
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

// ---- order/order.c

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

// ---- order/epoch.c

/**
 * At a round's begin; `stamp` is that of now, or 0 if they are counted. What is complete by now?
 */
void order_complete_epochs(struct order *o, uint64_t stamp);

/**
 * At its end: see what the header says now, and give the next epoch to a thread that is alone with
 * it.
 */
void order_see_epoch(struct order *o);

/** These events of the row were this reader's. */
static inline void order_note_busy(struct order *o, struct reader *r) {
	if (o->busy != r) {
		o->busy = r;
		o->busy_since_ns = o->now_ns;
		o->busy_from = r->at[RING_SMALL] + r->at[RING_BIG];
	}
}

/** Its thread is gone, and its slot will be another's: its epoch ends. */
void order_end_epoch_of(struct order *o, const struct reader *r);

// ---- order/threads.c

/** Find new threads: all who have events before the horizon. */
void order_find_threads(struct order *o);

/** Ask for some threads whether they live, and end those that are gone and drained. */
void order_end_threads(struct order *o);

/** True if `r` is known to be gone now. Asks at most every few ms. */
bool order_is_gone(struct order *o, struct reader *r);

// ---- order/rings.c

/** What comes next in a reader's rings. */
enum order_next {
	NEXT_EVENT, // reader.key is its key
	NEXT_DRY,   // nothing that was reserved before the horizon
	NEXT_HELD,  // it is reserved, and not published
};

/** See how far the rings are reserved. True: there is something to take. */
bool order_look(struct order *o, struct reader *r);

/** Find the next event. */
enum order_next order_peek(struct order *o, struct reader *r);

/** Hand over all events up to this key, and find the next one. */
enum order_next order_drain(struct order *o, struct reader *r, order_key limit);

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
