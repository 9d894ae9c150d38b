// SPDX-License-Identifier: MIT
#pragma once
/**
 * What the files of the order share: readers, the struct, and who calls whom, from above:
 *
 *   order.c     rounds: whose turn it is, and who holds the others up
 *   threads.c   slots -> readers: which threads there are, and which are gone
 *   drain.c     a reader's rings: how far they are reserved and taken; its events, in batches
 *   epoch.c     the horizon: which epochs are complete, and which thread may have the next
 */

#include "collector/order/order.h"

enum {
	ORDER_BATCH = 512,
	// A processor's stores become visible some ns after it read its clock, as nothing drains them
	// in between: 20 us or more is assumed
	ORDER_SLACK = 1 << 16,
	// 10 us or less: how much earlier than others' events those of a process with one thread leave
	ORDER_APART = 1 << 15,
};

/** The place of an event in the order: its epoch (wire/segment.h), then its stamp or 0. */
typedef unsigned __int128 order_key;
#define ORDER_KEY_MAX (~(order_key)0)

static inline order_key order_key_of(uint64_t epoch, uint64_t stamp) {
	return (order_key)epoch << 64 | stamp;
}

static inline uint64_t order_key_epoch(order_key key) {
	return (uint64_t)(key >> 64);
}

struct source {
	struct segment *segment;
	struct tries *tries;
	void *user; // for the sink, where it is about this segment
	uint32_t n_readers;
	uint32_t n_seen_slots; // slots below were used at least once
	uint32_t seen_claims;
	uint32_t image;
	order_key reached; // the highest handed over
	uint64_t searched_ns;
	uint64_t held_since_ns; // its next image waits until it begins; 0: none does
	bool has_ended;         // of one of its threads, just now
	struct reader *by_slot[];
};

/** A slot in use: a thread, as the collector sees it. */
struct reader {
	struct source *source;
	struct thread_slot *slot;
	struct wire_event *entries[N_RINGS];
	uint64_t at[N_RINGS];   // next entry to take
	uint64_t told[N_RINGS]; // what `taken` was set to
	uint64_t end[N_RINGS];  // reserved, as of this round's horizon; final once its thread is gone
	order_key key;          // of its next event, if known; of its last one, while held up
	order_key through;      // an earlier horizon: all its events with lower keys are published
	uint64_t epoch;         // the last one named in its ring
	uint64_t base;          // the last whole stamp in it; 0: its events have none
	uint64_t label_ns;
	uint64_t held_since_ns; // its next entry is reserved and unpublished; 0: not held up
	uint64_t alive_at_ns;   // when its thread was last known to be alive
	uint32_t slot_index;
	uint32_t owner;  // its number as an owner of epochs
	uint32_t thread; // the sink's id
	uint32_t tid, pid, image;
	uint32_t index; // in order.readers
	uint8_t ring;   // RING_SMALL until it is drained
	bool is_gone;   // its thread is gone: what is unpublished stays so
	bool is_held;   // belongs to an image that has not begun
	bool is_passed; // the others no longer wait for the entry that holds it up
	bool has_event; // `key` is its next event's, found in an earlier round and too new then
};

/** A reader that has an event, by its key. */
struct turn {
	order_key key;
	struct reader *reader;
};

struct order {
	struct wire_common *common;
	uint64_t start_ns;
	struct order_sink sink;
	struct order_limits limits;
	uint64_t now_ns;       // CLOCK_MONOTONIC, of this round
	uint64_t label_now_ns; // the same as a label
	bool is_last;          // the process is gone
	struct order_counts counts;

	// threads
	VEC(struct source *) sources;
	VEC(struct reader *) readers; // in any order
	uint32_t next_asked;          // the reader whose thread is checked next
	uint64_t asked_ns;

	// epochs
	uint64_t epoch;        // all earlier ones are complete: their events are reserved
	uint64_t newest_epoch; // seen in the header
	uint64_t epoch_most;   // the highest number that it can have
	struct {
		uint64_t epoch;                    // to be complete next; none: order.epoch
		uint64_t stamp;                    // when it was seen, if stamps are the clock's
		uint64_t round_ns, later_round_ns; // order.now_ns of the round that saw it, and one after
	} next;
	struct reader *busy;    // that all events came from
	uint64_t busy_since_ns; // since then,
	uint64_t busy_from;     // and since this entry

	// merge
	order_key horizon;   // events with lower keys are in the rings, or reserved there
	order_key limit;     // the same, as far as no reader is held up
	uint64_t settled;    // all older stamps in the present epoch are reserved
	uint64_t counted_ns; // when stamps were first seen to be counted; 0: from the clock
	struct turn *turns;  // a heap of n_turns, with room for all readers
	size_t turn_room;
	uint32_t n_turns;
	uint32_t n_held, n_left; // readers held up, and those with events beyond the horizon
	bool is_crowded;         // a ring is filling up
	bool is_late;            // what is handed over now is too late for its place

	// what leaves
	struct trace_event batch[ORDER_BATCH];
	uint32_t n_batch;
	size_t n_round;
	uint64_t progress; // sum of all that a round may bring, as of the last one
	uint32_t n_idle;   // rounds since then that brought nothing
};

// ---- drain.c: what leaves

void order_flush(struct order *o);

/** From now on, or no longer, events come late. */
void order_set_late(struct order *o, bool is_late);

/** Where the next events go, room for at least one. order_commit says how far. */
static inline struct trace_event *order_room(struct order *o) {
	if (UNLIKELY(o->n_batch == ORDER_BATCH)) {
		order_flush(o);
	}
	return &o->batch[o->n_batch];
}

static inline void order_commit(struct order *o, const struct trace_event *end) {
	o->n_batch = (uint32_t)(end - o->batch);
}

/** Does it change no block? */
static inline bool order_is_mapping(uint32_t kind) {
	return kind - KIND_MAP <= KIND_FORK - KIND_MAP;
}

/** Hand over a mapping's event, after the batch. */
void order_hand_mapping(struct order *o, const struct trace_event *event);

static inline void order_emit(struct order *o, const struct trace_event *event) {
	if (order_is_mapping(event->kind)) {
		order_hand_mapping(o, event);
		return;
	}
	struct trace_event *out = order_room(o);
	*out = *event;
	order_commit(o, out + 1);
}

// ---- drain.c: how far rings are reserved and taken

void order_look(struct order *o, struct reader *r);

/** The reader's thread will write no more. */
void order_set_gone(struct reader *r);

/** Tell the owner about room, if there is news. */
void order_tell_taken(struct reader *r);

/** Is nothing left in the rings of a thread that is gone? */
static inline bool order_is_drained(const struct reader *r) {
	return r->at[RING_SMALL] == r->end[RING_SMALL] && r->at[RING_BIG] == r->end[RING_BIG];
}

// ---- epoch.c

/** Set this round's horizon. Returns a stamp that none taken before exceeds. */
uint64_t order_take_horizon(struct order *o);

/**
 * At a round's end: see the header's epoch, and give the next to a thread if only it has events.
 */
void order_see_epoch(struct order *o);

/** Its thread is gone, and its slot will be reused: its epoch ends. */
void order_end_epoch_of(struct order *o, const struct reader *r);

// ---- threads.c

/** Find new threads: all that have events before the horizon. */
void order_find_threads(struct order *o);

/** Check whether some threads are alive, and end those that are gone and drained. */
void order_end_threads(struct order *o);

/** Is `r` known to be gone? Checks at most every few ms. */
bool order_is_gone(struct order *o, struct reader *r);

// ---- drain.c: events

enum order_next {
	NEXT_EVENT, // reader.key is its key
	NEXT_DRY,   // nothing reserved before the horizon
	NEXT_HELD,  // reserved, but unpublished
};

enum order_next order_peek(struct order *o, struct reader *r);

/** Hand over all events up to this key, and find the next one. */
enum order_next order_drain(struct order *o, struct reader *r, order_key limit);

/** Hand over what is published after the entry that holds up a reader. */
void order_look_behind(struct order *o, struct reader *r);
