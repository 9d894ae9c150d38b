// SPDX-License-Identifier: MIT
/*
 * One thread's rings (wire/event.h), read in order: first the small one, and when the thread has
 * moved on and the small one is drained, the big one.
 *
 * An entry that is reserved and not published holds its ring up: its thread is between the two, or a
 * signal handler interrupted it there. What the handler publishes meanwhile stands behind it. When
 * the others wait no longer, we look there, and overwrite what we take as void (published entries are
 * ours).
 */
#include "collector/order/parts.h"
#include "sys/futex.h"

static const uint64_t label_slack_ns = 100 * 1000 * 1000; // of clocks; later than that is nonsense

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

static inline struct wire_event *entry_at(const struct reader *r, unsigned ring, uint64_t index) {
	return &r->entries[ring][index & (wire_ring_entries(ring) - 1)];
}

/** Entries reserved in a ring: never less than taken, never more than it holds. */
static uint64_t reserved(const struct reader *r, unsigned ring) {
	// Pairs with machine_local_add() in ring_reserve()
	uint64_t end = atomic_load_explicit(&r->slot->rings[ring].reserved, memory_order_acquire);
	uint64_t at = r->at[ring];
	if (end - at <= wire_ring_entries(ring)) {
		return end;
	}
	return (int64_t)(end - at) < 0 ? at : at + wire_ring_entries(ring);
}

static void see_ends(struct reader *r) {
	// In this order: who has something in the big ring has written all that it ever will to the small
	r->end[RING_BIG] = reserved(r, RING_BIG);
	r->end[RING_SMALL] = reserved(r, RING_SMALL);
}

bool order_look(struct order *o, struct reader *r) {
	if (!r->is_gone) {
		see_ends(r);
	}
	// But for a hook that was interrupted by the one that moved on
	if (r->end[RING_SMALL] != r->at[RING_SMALL]) {
		r->ring = RING_SMALL;
	}
	uint64_t n_big = r->end[RING_BIG] - r->at[RING_BIG];
	o->is_crowded |= n_big > RING_BIG_ENTRIES / 2;
	return n_big > 0 || r->ring == RING_SMALL;
}

void order_set_gone(struct reader *r) {
	if (!r->is_gone) {
		see_ends(r);
		r->is_gone = true;
	}
}

void order_tell_taken(struct reader *r) {
	for (unsigned ring = 0; ring < N_RINGS; ring++) {
		struct wire_ring *shared = &r->slot->rings[ring];
		uint64_t taken = r->at[ring];
		if (r->told[ring] == taken) {
			continue;
		}
		r->told[ring] = taken;
		// Pairs with wait_for_room(): the owner says that it waits, and then looks at `taken` once more
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
	ENTRY_OTHER,   // of a kind that nobody reads yet
	ENTRY_BAD,     // makes no sense
	ENTRY_TIME,
	ENTRY_STAMP,
	ENTRY_EPOCH,
	ENTRY_EVENT,
};

struct entry {
	uint32_t n;     // entries it takes
	uint64_t value; // of a time, a stamp or an epoch
	order_key key;
	struct trace_event event;
};

static inline uint64_t stamp_of(const struct reader *r, uint64_t head, uint64_t body) {
	return r->base == 0 ? 0 : wire_stamp(r->base, head, body);
}

static void fill_event(struct order *o, const struct reader *r, struct entry *out, uint64_t head,
		uint64_t body, uint64_t ptr, uint64_t size) {
	uint32_t kind = wire_head_kind(head);
	out->key = order_key_of(r->epoch, stamp_of(r, head, body));
	out->event = (struct trace_event){
			.ptr = ptr,
			.size = size,
			.time_ns = r->label_ns,
			.node = tries_node(o->tries, wire_body_node(body)),
			.thread = r->thread,
			.kind = kind & 0xf,
	};
}

static inline bool is_other(uint32_t kind) {
	return kind - KIND_RATE <= KIND_FORK - KIND_RATE;
}

/** A prefix and the event it belongs to. */
static enum entry_is read_wide(struct order *o, const struct reader *r, unsigned ring,
		uint64_t index, uint64_t wide_head, uint64_t wide_body, struct entry *out) {
	struct wire_event *e = entry_at(r, ring, index + 1);
	uint64_t head = atomic_load_explicit(&e->head, memory_order_acquire);
	if (!is_published(head, ring_shift[ring], index + 1) ||
			(r->is_gone && index + 1 >= r->end[ring])) {
		// Left alone by a dead thread, the prefix means nothing
		return r->is_gone ? ENTRY_NOTHING : ENTRY_UNPUBLISHED;
	}
	enum wire_kind kind = wire_head_kind(head);
	uint64_t body = e->body;
	if (kind == KIND_VOID) {
		out->n = 2;
		return ENTRY_NOTHING;
	}
	if (is_other(kind)) {
		out->n = 2;
		return ENTRY_OTHER;
	}
	if (kind > KIND_STAYED || wire_body_size(body) != WIRE_SIZE_WIDE) {
		return ENTRY_BAD;
	}
	out->n = 2;
	fill_event(o, r, out, head, body, wire_wide_ptr(wide_head, wide_body),
			wire_wide_size(wide_body));
	return ENTRY_EVENT;
}

static enum entry_is read_entry(struct order *o, const struct reader *r, unsigned ring,
		uint64_t index, struct entry *out) {
	struct wire_event *e = entry_at(r, ring, index);
	uint64_t head = atomic_load_explicit(&e->head, memory_order_acquire);
	out->n = 1;
	if (!is_published(head, ring_shift[ring], index)) {
		return ENTRY_UNPUBLISHED;
	}
	uint64_t body = e->body;
	out->value = body;
	enum wire_kind kind = wire_head_kind(head);
	switch (kind) {
	case KIND_VOID: return ENTRY_NOTHING;
	case KIND_TIME: return ENTRY_TIME;
	case KIND_STAMP: return ENTRY_STAMP;
	case KIND_EPOCH: return ENTRY_EPOCH;
	case KIND_WIDE: return read_wide(o, r, ring, index, head, body, out);
	default: break;
	}
	if (is_other(kind)) {
		return ENTRY_OTHER;
	}
	if (kind > KIND_STAYED) {
		return ENTRY_BAD;
	}
	if (wire_body_size(body) == WIRE_SIZE_WIDE) {
		return ENTRY_BAD; // its prefix is missing
	}
	fill_event(o, r, out, head, body, wire_head_ptr(head), wire_body_size(body));
	return ENTRY_EVENT;
}

static void take_label(struct order *o, struct reader *r, uint64_t label_ns) {
	o->counts.bad_entries += label_ns > o->label_now_ns + label_slack_ns;
	r->label_ns = label_ns < o->label_now_ns ? label_ns : o->label_now_ns;
}

static void take_epoch(struct order *o, struct reader *r, uint64_t epoch) {
	if (wire_epoch_number(epoch) > o->epoch_most) {
		o->counts.bad_entries++;
		return;
	}
	r->epoch = epoch;
	r->base = 0;
}

// ---- behind what holds a reader up

static void make_void(const struct reader *r, unsigned ring, uint64_t index, uint32_t n) {
	for (uint64_t i = index; i < index + n; i++) {
		atomic_store_explicit(&entry_at(r, ring, i)->head,
				wire_head(wire_phase(i, wire_ring_entries(ring)), KIND_VOID, 0, 0),
				memory_order_relaxed);
	}
}

static void look_through(struct order *o, struct reader *r, unsigned ring) {
	struct entry entry;
	for (uint64_t i = r->at[ring]; i < r->end[ring]; i += entry.n) {
		switch (read_entry(o, r, ring, i, &entry)) {
		case ENTRY_STAMP: r->base = entry.value; break;
		case ENTRY_EPOCH: take_epoch(o, r, entry.value); break;
		case ENTRY_TIME: take_label(o, r, entry.value); break;
		case ENTRY_EVENT:
			if (entry.key > o->horizon) {
				return;
			}
			order_set_late(o, entry.key < o->row);
			order_emit(o, &entry.event);
			o->counts.late += entry.key < o->row;
			o->row = entry.key > o->row ? entry.key : o->row;
			make_void(r, ring, i, entry.n);
			o->counts.looked_behind++;
			break;
		case ENTRY_UNPUBLISHED:
		case ENTRY_NOTHING:
		case ENTRY_OTHER:
		case ENTRY_BAD: break; // maybe the second half of what is being published
		}
	}
}

void order_look_behind(struct order *o, struct reader *r) {
	uint64_t epoch = r->epoch, base = r->base, label_ns = r->label_ns;
	look_through(o, r, r->ring);
	if (r->ring == RING_SMALL) {
		look_through(o, r, RING_BIG);
	}
	order_set_late(o, false);
	r->epoch = epoch;
	r->base = base;
	r->label_ns = label_ns;
}

// ---- in order

/** Past an entry, and no further than what is reserved, whatever somebody has scribbled there. */
static void step(struct reader *r, unsigned ring, uint32_t n) {
	r->at[ring] = r->at[ring] + n < r->end[ring] ? r->at[ring] + n : r->end[ring];
}

static enum order_next find(struct order *o, struct reader *r, struct entry *entry) {
	for (;;) {
		unsigned ring = r->ring;
		if (r->at[ring] >= r->end[ring]) {
			if (ring == RING_BIG || r->end[RING_BIG] == r->at[RING_BIG]) {
				return NEXT_DRY;
			}
			r->ring = RING_BIG;
			continue;
		}
		switch (read_entry(o, r, ring, r->at[ring], entry)) {
		case ENTRY_EVENT: r->key = entry->key; return NEXT_EVENT;
		case ENTRY_UNPUBLISHED:
			if (!r->is_gone) {
				return NEXT_HELD;
			}
			o->counts.unpublished++;
			break;
		case ENTRY_NOTHING: break;
		case ENTRY_OTHER: o->counts.others++; break;
		case ENTRY_BAD: o->counts.bad_entries++; break;
		case ENTRY_TIME: take_label(o, r, entry->value); break;
		case ENTRY_STAMP: r->base = entry->value; break;
		case ENTRY_EPOCH: take_epoch(o, r, entry->value); break;
		}
		step(r, ring, entry->n);
	}
}

enum order_next order_peek(struct order *o, struct reader *r) {
	struct entry entry;
	return find(o, r, &entry);
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

/** Up to which stamp a key reaches in the reader's present epoch; false: not into it. */
static bool reaches(const struct reader *r, order_key key, uint64_t *stamp) {
	*stamp = r->epoch < order_key_epoch(key) ? UINT64_MAX : (uint64_t)key;
	return r->epoch <= order_key_epoch(key);
}

/**
 * The fast way: plain events of one epoch up to a stamp, as long as there are any. Nearly all are. What the
 * loop needs is held in locals, since it stores what might be anything. True: the next one is younger.
 */
static ATTR_INLINE bool drain_plain(struct order *o, struct reader *r, uint64_t limit) {
	const unsigned ring = r->ring;
	const uint64_t at = r->at[ring];
	const uint64_t lap_end = (at | (wire_ring_entries(ring) - 1)) + 1; // so far the phase stays
	const uint64_t n = (lap_end < r->end[ring] ? lap_end : r->end[ring]) - at;
	const struct wire_event *const begin = entry_at(r, ring, at);
	const struct wire_event *const end = begin + n;
	const struct wire_event *e = begin;
	const uint64_t phase = phase_of(at, ring_shift[ring]);
	const uint64_t label_ns = r->label_ns;
	const uint32_t thread = r->thread & 0xfffffff;
	struct tries *const tries = o->tries;
	struct trace_event *out = order_room(o);
	const uint64_t base = r->base;
	uint64_t last = 0, stamp = 0;
	while (e < end) {
		uint64_t head = atomic_load_explicit(&e->head, memory_order_acquire);
		unsigned kind = (unsigned)((head ^ phase) >> WIRE_KIND_SHIFT); // over 15: not published
		if (kind - 1u > KIND_STAYED - 1u) {
			break;
		}
		uint64_t body = e->body;
		uint32_t size = wire_body_size(body);
		if (size == WIRE_SIZE_WIDE) {
			break;
		}
		stamp = base == 0 ? 0 : wire_stamp(base, head, body);
		if (stamp > limit) {
			break;
		}
		fetch_node(tries, e, end, phase);
		*out++ = (struct trace_event){
				.ptr = wire_head_ptr(head),
				.size = size,
				.time_ns = label_ns,
				.node = tries_node(tries, wire_body_node(body)),
				.thread = thread,
				.kind = kind & 0xf,
		};
		last = stamp;
		e++;
		if (UNLIKELY(out == o->batch + ORDER_BATCH)) {
			order_commit(o, out);
			out = order_room(o);
		}
	}
	order_commit(o, out);
	r->at[ring] += (uint64_t)(e - begin);
	bool is_younger = stamp > limit;
	if (e > begin) {
		r->key = order_key_of(r->epoch, last);
		o->row = r->key > o->row ? r->key : o->row;
	}
	if (is_younger) {
		r->key = order_key_of(r->epoch, stamp);
	}
	return is_younger;
}

static void tell_in_time(struct reader *r) {
	if (r->at[r->ring] - r->told[r->ring] >= wire_ring_entries(r->ring) / 8) {
		order_tell_taken(r);
	}
}

enum order_next order_drain(struct order *o, struct reader *r, order_key limit) {
	for (;;) {
		uint64_t stamp;
		bool is_younger = reaches(r, limit, &stamp) && drain_plain(o, r, stamp);
		tell_in_time(r);
		if (is_younger) {
			return NEXT_EVENT;
		}
		struct entry entry;
		enum order_next next = find(o, r, &entry);
		if (next != NEXT_EVENT || entry.key > limit || o->has_failed) {
			return next;
		}
		order_emit(o, &entry.event);
		o->row = entry.key > o->row ? entry.key : o->row;
		step(r, r->ring, entry.n);
	}
}
