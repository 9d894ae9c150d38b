// SPDX-License-Identifier: MIT
#pragma once

/**
 * What the five files of the order share; nobody else includes this.
 *
 *   order_threads.c   slots -> readers: who is there, who is gone
 *   order_rings.c     a reader's rings -> events whose turn it is
 *   order_backlog.c   entries moved out of a ring that fills up while its reader waits
 *   order_numbers.c   regions: whose turn it is, who waits, which numbers will never come
 *   order.c           rounds: which reader is next, and the batch that leaves
 */

#include "base/attr.h"
#include "collector/order.h"

enum { ORDER_BATCH = 512 };

/** Who waits for the turn of a number. Turns are counted in full, not modulo 2^28. */
struct waiter {
	struct waiter *next; // in its bucket
	uint32_t region;
	uint32_t turn;
	bool is_parked; // a struct parked, else a struct reader
};

/** An event that was taken out of its ring before its turn. */
struct parked {
	struct waiter waiter; // first
	struct reader *reader;
	struct parked *next; // in its reader's chain, or in the list of unused ones
	bool is_chained;
	struct trace_event event;
};

enum reader_state {
	READER_RESTS,  // dry when last looked at, or ahead of the clock: polled in each round
	READER_QUEUED, // in the queue: has events whose label is not in the future
	READER_AHEAD,  // in the heap: its next event's label is later than the clock
	READER_WAITS,  // its next event waits for its turn
};

/** Entries of the big ring that were copied out of it: those from reader.at to `end`. */
struct backlog {
	struct wire_event *entries; // `room` of them, a power of two, by index modulo room
	uint64_t end;
	uint32_t room;
};

/** One slot in use: a thread, as seen from here. */
struct reader {
	struct waiter waiter; // first. Of its next event, while READER_WAITS
	struct thread_slot *slot;
	struct wire_event *entries[N_RINGS];
	uint64_t at[N_RINGS];        // next entry to take
	uint64_t told[N_RINGS];      // what `taken` was set to
	uint64_t last[N_RINGS];      // of a thread that is gone: what it had reserved
	uint64_t proof_end[N_RINGS]; // see order_numbers.c
	uint64_t seen[N_RINGS];      // all entries before are known to be published
	struct backlog backlog;
	uint64_t label_ns;
	uint64_t waits_since_ns;
	uint64_t alive_at_ns; // when that was last asked
	struct reader *next_queued;
	struct parked *chain_first, *chain_last; // parked REALLOC, MOVED, STAYED
	uint32_t n_parked;
	uint32_t slot_index;
	uint32_t thread; // the sink's id
	uint32_t tid, pid, image;
	uint32_t index; // in order.readers
	uint32_t quiet_rounds;
	uint8_t state;
	uint8_t ring;    // RING_SMALL until it is drained
	bool is_parking; // parks what must wait, instead of waiting
	bool is_gone;    // its thread is: what is not published will never be
	bool is_held;    // belongs to an image that has not begun
	bool has_thread; // the sink knows it
};

struct region {
	uint32_t turn; // next number to take
	uint32_t n_waiting;
};

/** Readers by label, the earliest first. */
struct reader_heap {
	struct reader **items;
	size_t n, capacity;
};

/**
 * A proof that numbers which some wait for will never come: all that was reserved when it began
 * is taken, and they were not among it.
 */
struct proof {
	bool is_running;
	bool is_held_up;  // by a thread that lives and has an entry reserved, not published
	uint32_t n_looks; // behind events that wait
	uint64_t since_ns;
	uint32_t turns[WIRE_N_REGIONS];   // when it began
	uint32_t given[WIRE_N_REGIONS];   // numbers that were given out then
	uint32_t tangled[WIRE_N_REGIONS]; // 1 + the turn that a chain held up when the last one ended
};

struct order {
	struct segment *segment;
	struct tries *tries;
	struct order_sink sink;
	struct order_limits limits;
	uint64_t now_ns;       // CLOCK_MONOTONIC, of this round
	uint64_t label_now_ns; // the same as a label
	uint64_t horizon_ns;   // no event is taken yet whose label is later
	bool is_last;          // the process is gone
	struct order_counts counts;
	uint32_t image;

	// threads
	struct reader **by_slot; // n_slots
	struct reader **readers; // compact: the first n_busy are polled in each round
	uint32_t n_readers, n_busy;
	uint32_t n_seen_slots; // slots below were in use at least once
	uint32_t seen_hint;
	uint32_t next_asked; // whom to ask next whether it lives
	uint64_t searched_ns, asked_ns;

	// merge
	uint64_t clock_ns; // label up to which events are taken
	struct reader *queue_first, *queue_last;
	struct reader_heap ahead;

	// numbers
	struct region regions[WIRE_N_REGIONS];
	struct waiter **buckets;
	uint32_t n_buckets, n_waiters, n_parked;
	struct parked *unused;
	struct {
		struct parked **items;
		size_t n, capacity;
	} slabs;
	struct proof proof;
	uint32_t lost_until[WIRE_N_REGIONS]; // numbers below that are missing are lost
	uint64_t lost_kept_at;               // counts.events when those of old were last forgotten
	uint64_t n_backlog;                  // room of all backlogs
	uint64_t stale_ns;                   // when stale waiters were last looked for
	uint16_t todo[WIRE_N_REGIONS];
	bool is_todo[WIRE_N_REGIONS];

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

/** Let a reader be drained in this round (or, if it is ahead of the clock, later). */
void order_queue(struct order *o, struct reader *r);

/** True if no other reader should be looked at before one whose next label is `label_ns`. */
bool order_may_go_on(struct order *o, uint64_t label_ns);

void order_fail(struct order *o, const struct err *err);

// ---- order_threads.c

/** Find new threads. `all`: look at each slot that was ever in use, not only for a reason. */
void order_find_threads(struct order *o, bool all);

/** Ask for some threads whether they live, and end those that are gone and drained. */
void order_end_threads(struct order *o, bool all);

/** True if `r` is known to be gone now. Asks at most every few ms. */
bool order_is_gone(struct order *o, struct reader *r);

void order_set_busy(struct order *o, struct reader *r, bool is_busy);

// ---- order_rings.c

/** Take all that may be taken from the reader's rings now; sets its state. How much work it was. */
uint32_t order_drain(struct order *o, struct reader *r);

/** True if there is something to look at in the ring that the reader is in. */
bool order_has_more(const struct reader *r);

/** Entries reserved in a ring: never less than taken, never more than it holds. */
uint64_t order_reserved(const struct reader *r, unsigned ring);

/** The reader's thread will write no more. */
void order_set_gone(struct order *o, struct reader *r);

/** Let the owner know of the room, if there is something new to say. */
void order_tell_taken(struct reader *r);

/** The entry of that index, in the ring or in the backlog. */
static inline struct wire_event *order_entry(const struct reader *r, unsigned ring,
		uint64_t index) {
	return ring == RING_BIG && index < r->backlog.end
			? &r->backlog.entries[index & (r->backlog.room - 1)]
			: &r->entries[ring][index & (wire_ring_entries(ring) - 1)];
}

/** All entries of the ring before this are free for the owner. */
static inline uint64_t order_taken(const struct reader *r, unsigned ring) {
	uint64_t at = r->at[ring];
	return ring == RING_BIG && r->backlog.end > at ? r->backlog.end : at;
}

bool order_is_published(const struct reader *r, unsigned ring, uint64_t index);

/** Take one event from behind the one that the reader waits with. False: none is ready there. */
bool order_look_ahead(struct order *o, struct reader *r);

/** True if nothing that was reserved when the proof began can still be published. */
bool order_is_seen_through(struct reader *r);

// ---- order_backlog.c

/** Make room in the big ring of a reader that waits. False: it needs some, and there is no memory. */
bool order_relieve(struct order *o, struct reader *r);

/** Give up the backlog's memory. */
void order_drop_backlog(struct order *o, struct reader *r);

// ---- order_numbers.c

bool order_numbers_init(struct order *o, struct err *err);
void order_numbers_finish(struct order *o);

/** The region's turn went on by one: let those go on who waited for the next. */
void order_advance(struct order *o, uint32_t region);

enum turn_answer {
	TURN_NOW,    // emit it: its number is taken
	TURN_LOST,   // emit it: its number means nothing
	TURN_PARKED, // it was put aside: go on with the next
	TURN_WAIT,   // leave it where it is; the reader waits (if it is the reader's next)
};

/** May this event leave? `may_wait`: it is the reader's next, TURN_WAIT makes the reader wait. */
enum turn_answer order_ask_turn(struct order *o, struct reader *r, uint32_t region, uint32_t number,
		const struct trace_event *event, bool may_wait);

/** Once per round, after all readers: who waited too long, which numbers will never come. */
void order_mend(struct order *o);
