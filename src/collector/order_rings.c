// SPDX-License-Identifier: MIT
/*
 * One thread's rings (wire/event.h), read in order: first the small one, and when the thread has
 * moved on and the small one is drained, the big one.
 *
 * An entry that is reserved and not published blocks its ring: its thread is between the two, or a
 * signal handler interrupted it there. What the handler publishes meanwhile stands behind the
 * blocked entry, and other threads may wait for it. So we look behind: an event there whose turn it
 * is leaves at once, and its entry is overwritten as void (published entries are ours). The first
 * event there that must wait ends the look, for the order of its thread's events.
 */
#include "collector/order_parts.h"
#include "sys/futex.h"

enum { DRAIN_MAX = 1 << 16 }; // entries in one go, for other readers' sake

static const unsigned ring_shift[N_RINGS] = {10, 14};
_Static_assert(1 << 10 == RING_SMALL_ENTRIES && 1 << 14 == RING_BIG_ENTRIES, "ring_shift");
_Static_assert((int)KIND_ALLOC == (int)TRACE_ALLOC && (int)KIND_FREE == (int)TRACE_FREE &&
				(int)KIND_REALLOC == (int)TRACE_REALLOC && (int)KIND_MOVED == (int)TRACE_MOVED &&
				(int)KIND_STAYED == (int)TRACE_STAYED,
		"kinds are passed on as they are");

static inline uint64_t phase_of(uint64_t index, unsigned shift) {
	return (~(index >> shift) & 1) << 63; // wire_phase without its division
}

static inline bool is_published(uint64_t head, unsigned shift, uint64_t index) {
	return head >> 63 != (index >> shift & 1);
}

uint64_t order_reserved(const struct reader *r, unsigned ring) {
	if (r->is_gone) {
		return r->last[ring];
	}
	uint64_t reserved = atomic_load_explicit(&r->slot->rings[ring].reserved, memory_order_acquire);
	uint64_t taken = order_taken(r, ring);
	if (reserved - taken <= wire_ring_entries(ring)) {
		return reserved;
	}
	return (int64_t)(reserved - taken) < 0 ? taken : taken + wire_ring_entries(ring);
}

bool order_is_published(const struct reader *r, unsigned ring, uint64_t index) {
	const struct wire_event *e = order_entry(r, ring, index);
	return is_published(atomic_load_explicit(&e->head, memory_order_acquire), ring_shift[ring],
			index);
}

bool order_is_seen_through(struct reader *r) {
	for (unsigned ring = 0; ring < N_RINGS && !r->is_gone; ring++) {
		uint64_t i = r->seen[ring] > r->at[ring] ? r->seen[ring] : r->at[ring];
		while (i < r->proof_end[ring] && order_is_published(r, ring, i)) {
			i++;
		}
		r->seen[ring] = i;
		if (i < r->proof_end[ring]) {
			return false;
		}
	}
	return true;
}

static bool has_moved_on(const struct reader *r) {
	return atomic_load_explicit(&r->slot->ring, memory_order_acquire) == RING_BIG;
}

void order_set_gone(struct order *o, struct reader *r) {
	if (r->is_gone) {
		return;
	}
	for (unsigned ring = 0; ring < N_RINGS; ring++) {
		r->last[ring] = order_reserved(r, ring);
	}
	r->is_gone = true;
	order_set_busy(o, r, true);
}

bool order_has_more(const struct reader *r) {
	unsigned ring = r->ring;
	uint64_t at = r->at[ring];
	uint64_t head = atomic_load_explicit(&order_entry(r, ring, at)->head, memory_order_relaxed);
	if (is_published(head, ring_shift[ring], at) && !r->is_gone) {
		return true;
	}
	return order_reserved(r, RING_SMALL) != r->at[RING_SMALL] ||
			order_reserved(r, RING_BIG) != r->at[RING_BIG];
}

void order_tell_taken(struct reader *r) {
	for (unsigned ring = 0; ring < N_RINGS; ring++) {
		struct wire_ring *shared = &r->slot->rings[ring];
		uint64_t taken = order_taken(r, ring);
		if (r->told[ring] == taken) {
			continue;
		}
		r->told[ring] = taken;
		// Pairs with the owner that says it waits and then looks at `taken` once more
		atomic_store(&shared->taken, taken);
		if (atomic_load(&shared->owner_waits)) {
			atomic_fetch_add(&shared->room, 1);
			futex_wake(&shared->room, INT32_MAX);
		}
	}
}

// ---- one entry

enum entry_is {
	ENTRY_UNPUBLISHED,
	ENTRY_NOTHING, // void
	ENTRY_BAD,     // makes no sense
	ENTRY_TIME,
	ENTRY_EVENT,
};

struct entry {
	uint32_t n; // entries it takes
	uint32_t region, number;
	struct trace_event event; // of a time entry, only time_ns
};

static void fill_event(struct order *o, const struct reader *r, struct entry *out, uint64_t head,
		uint64_t body, uint64_t ptr, uint64_t size) {
	uint32_t kind = wire_head_kind(head);
	out->region = wire_region_of(ptr);
	out->number = wire_number(head, body);
	out->event = (struct trace_event){
			.ptr = ptr,
			.size = size,
			.time_ns = r->label_ns,
			.node = tries_node(o->tries, wire_body_node(body)),
			.thread = r->thread,
			.kind = kind & 0xf,
	};
}

/** A prefix and the event it belongs to. */
static enum entry_is read_wide(struct order *o, const struct reader *r, unsigned ring,
		uint64_t index, uint64_t wide_head, uint64_t wide_body, struct entry *out) {
	struct wire_event *e = order_entry(r, ring, index + 1);
	uint64_t head = atomic_load_explicit(&e->head, memory_order_acquire);
	if (!is_published(head, ring_shift[ring], index + 1) ||
			(r->is_gone && index + 1 >= r->last[ring])) {
		// Left alone by a dead thread, the prefix means nothing
		return r->is_gone ? ENTRY_NOTHING : ENTRY_UNPUBLISHED;
	}
	enum wire_kind kind = wire_head_kind(head);
	uint64_t body = e->body;
	if (kind == KIND_VOID) {
		out->n = 2;
		return ENTRY_NOTHING;
	}
	if (kind > KIND_STAYED || wire_body_size(body) != WIRE_SIZE_WIDE) {
		return ENTRY_BAD;
	}
	const uint64_t ptr_mask = (1ull << 60) - 1;
	out->n = 2;
	fill_event(o, r, out, head, body, (wide_head & ptr_mask) << 4 | (wide_body & 15),
			wide_body >> 4);
	return ENTRY_EVENT;
}

static enum entry_is read_entry(struct order *o, const struct reader *r, unsigned ring,
		uint64_t index, struct entry *out) {
	struct wire_event *e = order_entry(r, ring, index);
	uint64_t head = atomic_load_explicit(&e->head, memory_order_acquire);
	out->n = 1;
	if (!is_published(head, ring_shift[ring], index) || (r->is_gone && index >= r->last[ring])) {
		return ENTRY_UNPUBLISHED;
	}
	uint64_t body = e->body;
	switch (wire_head_kind(head)) {
	case KIND_VOID: return ENTRY_NOTHING;
	case KIND_TIME: out->event.time_ns = body; return ENTRY_TIME;
	case KIND_WIDE: return read_wide(o, r, ring, index, head, body, out);
	case KIND_ALLOC:
	case KIND_FREE:
	case KIND_REALLOC:
	case KIND_MOVED:
	case KIND_STAYED: break;
	}
	if (wire_body_size(body) == WIRE_SIZE_WIDE) {
		return ENTRY_BAD; // its prefix is missing
	}
	fill_event(o, r, out, head, body, wire_head_ptr(head), wire_body_size(body));
	return ENTRY_EVENT;
}

/** True if the event is out of its ring; false if it must wait there. */
static bool take(struct order *o, struct reader *r, const struct entry *entry, bool may_wait) {
	enum turn_answer answer = order_ask_turn(o, r, entry->region, entry->number, &entry->event,
			may_wait);
	switch (answer) {
	case TURN_WAIT: return false;
	case TURN_PARKED: return true;
	case TURN_LOST:
		o->counts.strays++;
		order_emit(o, &entry->event);
		return true;
	case TURN_NOW: break;
	}
	order_emit(o, &entry->event);
	o->regions[entry->region].turn++;
	order_advance(o, entry->region);
	return true;
}

// ---- behind a blocked entry

static void make_void(const struct reader *r, unsigned ring, uint64_t index, uint32_t n) {
	for (uint64_t i = index; i < index + n; i++) {
		atomic_store_explicit(&order_entry(r, ring, i)->head,
				wire_head(wire_phase(i, wire_ring_entries(ring)), KIND_VOID, 0, 0),
				memory_order_relaxed);
	}
}

/** Unpublished entries that a look has passed: flows of control that are still interrupted. */
struct passed {
	const _Atomic uint64_t *heads[8];
	uint64_t seen[8];
	unsigned n;
};

/** Remember the entry at `index`. False: it was published just now, or there are too many. */
static bool pass(struct passed *p, const struct reader *r, unsigned ring, uint64_t index) {
	const _Atomic uint64_t *head = &order_entry(r, ring, index)->head;
	uint64_t seen = atomic_load_explicit(head, memory_order_relaxed);
	bool is_prefix = is_published(seen, ring_shift[ring], index) &&
			wire_head_kind(seen) == KIND_WIDE;
	if (is_prefix) {
		head = &order_entry(r, ring, ++index)->head;
		seen = atomic_load_explicit(head, memory_order_relaxed);
	}
	if (is_published(seen, ring_shift[ring], index) ||
			p->n == sizeof p->heads / sizeof p->heads[0]) {
		return false;
	}
	p->heads[p->n] = head;
	p->seen[p->n] = seen;
	p->n++;
	return true;
}

/**
 * What was read behind them is a handler's only if they are all unpublished even now: once one of
 * them is published, its thread goes on, and what it publishes then must not overtake it.
 */
static bool are_still_interrupted(const struct passed *p) {
	for (unsigned i = 0; i < p->n; i++) {
		if (atomic_load_explicit(p->heads[i], memory_order_acquire) != p->seen[i]) {
			return false;
		}
	}
	return true;
}

/** False: an event there must wait, later ones stay behind it. */
static bool look_through(struct order *o, struct reader *r, unsigned ring, uint64_t from,
		struct passed *passed) {
	uint64_t end = order_reserved(r, ring);
	uint64_t label_ns = r->label_ns;
	bool may_go_on = true;
	uint64_t i = from;
	while (i < end && may_go_on) {
		struct entry entry;
		switch (read_entry(o, r, ring, i, &entry)) {
		case ENTRY_UNPUBLISHED: may_go_on = pass(passed, r, ring, i); break;
		case ENTRY_NOTHING:
		case ENTRY_BAD: break; // maybe the second half of what was being published
		case ENTRY_TIME:
			if (entry.event.time_ns <= o->label_now_ns) {
				r->label_ns = entry.event.time_ns;
			}
			break;
		case ENTRY_EVENT:
			may_go_on = are_still_interrupted(passed) && take(o, r, &entry, false);
			if (may_go_on) {
				make_void(r, ring, i, entry.n);
				o->counts.looked_behind++;
			}
			break;
		}
		i += entry.n;
	}
	r->label_ns = label_ns;
	return may_go_on;
}

static void look_behind(struct order *o, struct reader *r) {
	unsigned ring = r->ring;
	bool has_moved = ring == RING_SMALL && has_moved_on(r);
	if (order_reserved(r, ring) <= r->at[ring] + 1 && !has_moved) {
		return;
	}
	struct passed passed = {0};
	if (look_through(o, r, ring, r->at[ring], &passed) && has_moved) {
		(void)look_through(o, r, RING_BIG, r->at[RING_BIG], &passed);
	}
}

/**
 * Behind an event that waits: the next one whose turn it is. REALLOC, MOVED and STAYED do not pass
 * each other even here.
 */
bool order_look_ahead(struct order *o, struct reader *r) {
	enum { LOOK_MAX = 256 }; // what a handler did stands right behind
	unsigned ring = r->ring;
	uint64_t at = r->at[ring];
	uint64_t end = order_reserved(r, ring);
	end = end < at + LOOK_MAX ? end : at + LOOK_MAX;
	bool has_passed_realloc = false;
	struct entry entry;
	for (uint64_t i = at; i < end; i += entry.n) {
		enum entry_is is = read_entry(o, r, ring, i, &entry);
		if (is == ENTRY_UNPUBLISHED) {
			return false;
		}
		bool is_realloc = is == ENTRY_EVENT && entry.event.kind >= TRACE_REALLOC;
		if (is == ENTRY_EVENT && i > at && !(is_realloc && has_passed_realloc) &&
				take(o, r, &entry, false)) {
			make_void(r, ring, i, entry.n);
			o->counts.looked_behind++;
			return true;
		}
		has_passed_realloc |= is_realloc;
	}
	return false;
}

// ---- in order

enum stop {
	STOP_DRY,     // nothing published, all reserved entries taken
	STOP_BLOCKED, // the next entry is reserved and not published
	STOP_WAITS,   // the next event must wait
	STOP_AHEAD,   // what follows is later than the clock
	STOP_LONG,    // enough for now
};

/** The next entry is not published: why? May move on to another ring, or over dead entries. */
static enum stop stop_at_unpublished(struct order *o, struct reader *r, bool *goes_on) {
	unsigned ring = r->ring;
	// First: what it reserved before it moved on must be seen below
	bool has_moved = ring == RING_SMALL && has_moved_on(r);
	*goes_on = true;
	if (order_reserved(r, ring) != r->at[ring]) {
		uint64_t head = atomic_load_explicit(&order_entry(r, ring, r->at[ring])->head,
				memory_order_acquire);
		if (is_published(head, ring_shift[ring], r->at[ring]) &&
				wire_head_kind(head) != KIND_WIDE) {
			return STOP_DRY; // just now
		}
		if (r->is_gone) {
			r->at[ring]++;
			o->counts.unpublished++;
			return STOP_DRY;
		}
		*goes_on = false;
		return STOP_BLOCKED;
	}
	if (has_moved) {
		r->ring = RING_BIG;
		return STOP_DRY;
	}
	*goes_on = false;
	return STOP_DRY;
}

/** The slow way: one entry of any kind. */
static enum stop drain_entry(struct order *o, struct reader *r, bool *goes_on) {
	struct entry entry;
	unsigned ring = r->ring;
	*goes_on = true;
	switch (read_entry(o, r, ring, r->at[ring], &entry)) {
	case ENTRY_UNPUBLISHED: return stop_at_unpublished(o, r, goes_on);
	case ENTRY_NOTHING: break;
	case ENTRY_BAD: o->counts.bad_entries++; break;
	case ENTRY_TIME:
		r->label_ns = entry.event.time_ns;
		r->at[ring] += 1;
		*goes_on = order_may_go_on(o, r->label_ns);
		return STOP_AHEAD;
	case ENTRY_EVENT:
		if (!take(o, r, &entry, true)) {
			*goes_on = false;
			return STOP_WAITS;
		}
		break;
	}
	r->at[ring] += entry.n;
	return STOP_DRY;
}

/** How far the fast way may go: within the lap, so that the phase stays, and not too far. */
static uint64_t plain_end(const struct reader *r) {
	uint32_t n_entries = wire_ring_entries(r->ring);
	uint64_t at = r->at[r->ring];
	uint64_t end = at + n_entries / 8;
	uint64_t lap_end = (at | (n_entries - 1)) + 1;
	end = end < lap_end ? end : lap_end;
	if (r->ring == RING_BIG && at < r->backlog.end && r->backlog.end < end) {
		end = r->backlog.end;
	}
	return r->is_gone && r->last[r->ring] < end ? r->last[r->ring] : end;
}

enum { AHEAD_NODE = 12 }; // entries before its turn, an entry's node is asked for

/** Ask for the node of an entry to come, if it is there already: before, its body may be written. */
static ATTR_INLINE void fetch_node(const struct tries *tries, const struct wire_event *e,
		const struct wire_event *end, uint64_t phase) {
	const struct wire_event *later = e + AHEAD_NODE;
	if (later < end &&
			(atomic_load_explicit(&later->head, memory_order_acquire) ^ phase) >> 63 == 0) {
		tries_fetch(tries, wire_body_node(later->body));
	}
}

/**
 * The fast way: plain events whose turn it is, as long as there are any. Nearly all are. What the
 * loop needs is held in locals, since it stores what might be anything.
 */
ATTR_NOINLINE static void drain_plain(struct order *o, struct reader *r) {
	const struct wire_event *e = order_entry(r, r->ring, r->at[r->ring]);
	const struct wire_event *end = e + (plain_end(r) - r->at[r->ring]);
	const struct wire_event *const begin = e;
	const uint64_t phase = phase_of(r->at[r->ring], ring_shift[r->ring]);
	const uint64_t label_ns = r->label_ns;
	const uint32_t thread = r->thread & 0xfffffff;
	struct tries *const tries = o->tries;
	struct trace_event *out = order_room(o);
	while (e < end && !r->chain_first) {
		uint64_t head = atomic_load_explicit(&e->head, memory_order_acquire);
		unsigned kind = (unsigned)((head ^ phase) >> 60); // more than 7: not published
		if (kind - 1u > KIND_STAYED - 1u) {
			break;
		}
		uint64_t body = e->body;
		fetch_node(tries, e, end, phase);
		uint64_t ptr = wire_head_ptr(head);
		uint32_t size = wire_body_size(body);
		struct region *region = &o->regions[wire_region_of(ptr)];
		if (((wire_number(head, body) ^ region->turn) & WIRE_NUMBER_MASK) != 0 ||
				size == WIRE_SIZE_WIDE) {
			break;
		}
		*out++ = (struct trace_event){
				.ptr = ptr,
				.size = size,
				.time_ns = label_ns,
				.node = tries_node(tries, wire_body_node(body)),
				.thread = thread,
				.kind = kind & 0xf,
		};
		region->turn++;
		e++;
		if (UNLIKELY(region->n_waiting)) {
			order_commit(o, out);
			order_advance(o, (uint32_t)(region - o->regions));
			out = order_room(o);
		} else if (UNLIKELY(out == o->batch + ORDER_BATCH)) {
			order_commit(o, out);
			out = order_room(o);
		}
	}
	order_commit(o, out);
	r->at[r->ring] += (uint64_t)(e - begin);
}

static bool is_time_to_tell(const struct reader *r) {
	return order_taken(r, r->ring) - r->told[r->ring] >= wire_ring_entries(r->ring) / 8;
}

uint32_t order_drain(struct order *o, struct reader *r) {
	enum stop stop = STOP_LONG;
	bool goes_on = true;
	r->state = READER_RESTS;
	// A hook that was interrupted by the one that moved on may still write to the small ring
	if (r->ring == RING_BIG && order_reserved(r, RING_SMALL) != r->at[RING_SMALL]) {
		r->ring = RING_SMALL;
	}
	uint32_t n = 0;
	while (goes_on && n < DRAIN_MAX && !o->has_failed) {
		uint64_t before = r->at[RING_SMALL] + r->at[RING_BIG];
		drain_plain(o, r);
		stop = drain_entry(o, r, &goes_on);
		n += (uint32_t)(r->at[RING_SMALL] + r->at[RING_BIG] - before) + 1;
		if (is_time_to_tell(r)) {
			order_tell_taken(r);
		}
	}
	if (goes_on || stop == STOP_AHEAD) {
		order_queue(o, r);
	} else if (stop != STOP_WAITS) {
		if (stop == STOP_BLOCKED) {
			look_behind(o, r);
		}
		r->is_parking = false; // what comes now may wait in order again
	}
	return n;
}
