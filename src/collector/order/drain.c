// SPDX-License-Identifier: MIT
/*
 * The rings of one thread: how far they are reserved and taken, and their events, in order and in
 * batches. The big ring is read once the thread has moved to it and the small one is drained.
 * Nothing in an entry is trusted.
 */
#include "collector/order/parts.h"

// ---- how far rings are reserved, and how far the owner knows them to be taken

/** Entries reserved in a ring: never less than taken, never more than it holds. */
static uint64_t reserved(const struct reader *r, unsigned ring) {
	// Pairs with machine_local_add() in ring_reserve()
	uint64_t end = atomic_load_explicit(&r->slot->rings[ring].reserved, memory_order_acquire);
	uint64_t at = r->at[ring];
	return end - at <= wire_ring_entries(ring) ? end
			: (int64_t)(end - at) < 0          ? at
											   : at + wire_ring_entries(ring);
}

static void see_ends(struct reader *r) {
	// The big ring first: a thread with entries there no longer writes to the small one
	r->end[RING_BIG] = reserved(r, RING_BIG);
	r->end[RING_SMALL] = reserved(r, RING_SMALL);
}

void order_look(struct order *o, struct reader *r) {
	if (!r->is_gone) {
		see_ends(r);
	}
	// The small ring may still fill, with the event of a hook that the moving one interrupted
	if (r->end[RING_SMALL] != r->at[RING_SMALL]) {
		r->ring = RING_SMALL;
	}
	o->is_crowded |= r->end[RING_BIG] - r->at[RING_BIG] > RING_BIG_ENTRIES / 2;
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
		// Pairs with wait_for_room(): the owner says that it waits, then checks `taken` again
		atomic_store(&shared->taken, taken);
		if (atomic_load(&shared->owner_waits)) {
			atomic_fetch_add(&shared->room, 1);
			futex_wake(&shared->room, INT32_MAX);
		}
	}
}

// ---- what leaves

void order_flush(struct order *o) {
	uint32_t n = o->n_batch;
	o->n_batch = 0;
	if (n > 0) {
		(o->is_late ? o->sink.late_events : o->sink.events)(o->sink.user, o->batch, n);
	}
	o->counts.events += n;
	o->n_round += n;
}

void order_hand_mapping(struct order *o, const struct trace_event *event) {
	order_flush(o);
	o->sink.mapping(o->sink.user, event);
	o->counts.mappings++;
	o->n_round++;
}

void order_set_late(struct order *o, bool is_late) {
	if (o->is_late != is_late) {
		order_flush(o);
		o->is_late = is_late;
	}
}

// ---- one entry (wire/event.h)

static inline struct wire_event *entry_at(const struct reader *r, unsigned ring, uint64_t index) {
	return &r->entries[ring][index & (wire_ring_entries(ring) - 1)];
}

enum entry_is {
	ENTRY_UNPUBLISHED,
	ENTRY_NOTHING, // void, or a time, stamp or epoch, which the reader took
	ENTRY_BAD,     // makes no sense
	ENTRY_EVENT,
};

struct entry {
	uint32_t n;    // entries that it takes
	order_key key; // of an event
	struct trace_event event;
};

static const uint64_t label_slack_ns = 100 * 1000 * 1000; // by which clocks may differ

_Static_assert((int)KIND_ALLOC == (int)TRACE_ALLOC && (int)KIND_FREE == (int)TRACE_FREE &&
				(int)KIND_REALLOC == (int)TRACE_REALLOC && (int)KIND_MOVED == (int)TRACE_MOVED &&
				(int)KIND_STAYED == (int)TRACE_STAYED,
		"kinds are passed on as they are");

static inline bool is_published(uint64_t head, unsigned ring, uint64_t index) {
	return (head ^ wire_phase(index, wire_ring_log2(ring))) >> 63 == 0;
}

static uint64_t stamp_of(const struct reader *r, uint64_t head, uint64_t body) {
	return r->base == 0 ? 0 : wire_stamp(r->base, head, body);
}

static void fill_event(const struct reader *r, struct entry *out, uint64_t head, uint64_t body,
		uint64_t ptr, uint64_t size) {
	uint32_t kind = wire_head_kind(head);
	out->key = order_key_of(r->epoch, stamp_of(r, head, body));
	out->event = (struct trace_event){
			.ptr = ptr,
			.size = size,
			.time_ns = r->label_ns,
			// A copied node is of the running command; an event held back is another's
			.node = r->is_held ? 0 : tries_node(r->source->tries, wire_body_node(body)),
			.thread = r->thread & TRACE_THREAD_MAX,
			.kind = kind & 0xf,
	};
}

static inline bool is_event(uint32_t kind) {
	return kind <= KIND_STAYED || order_is_mapping(kind);
}

/** An event's address; for a mapping its page, with what is said of it in the low bits. */
static inline uint64_t address_of(uint64_t head, uint64_t ptr) {
	return order_is_mapping(wire_head_kind(head)) && wire_head_kind(head) != KIND_FORK
			? (ptr & -(uint64_t)WIRE_PAGE_LEAST) | wire_map_sort_of(wire_head_ptr(head))
			: ptr;
}

static enum entry_is read_wide(const struct reader *r, unsigned ring, uint64_t index,
		uint64_t wide_head, uint64_t wide_body, struct entry *out) {
	struct wire_event *e = entry_at(r, ring, index + 1);
	uint64_t head = atomic_load_explicit(&e->head, memory_order_acquire);
	if (!is_published(head, ring, index + 1) || (r->is_gone && index + 1 >= r->end[ring])) {
		// A prefix means nothing if its thread died before publishing the event
		return r->is_gone ? ENTRY_NOTHING : ENTRY_UNPUBLISHED;
	}
	enum wire_kind kind = wire_head_kind(head);
	uint64_t body = e->body;
	if (kind == KIND_VOID) {
		out->n = 2;
		return ENTRY_NOTHING;
	}
	if (!is_event(kind) || wire_body_size(body) != WIRE_SIZE_WIDE) {
		return ENTRY_BAD;
	}
	out->n = 2;
	fill_event(r, out, head, body, address_of(head, wire_wide_ptr(wide_head, wide_body)),
			wire_wide_size(wide_body));
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

static enum entry_is read_entry(struct order *o, struct reader *r, unsigned ring, uint64_t index,
		struct entry *out) {
	struct wire_event *e = entry_at(r, ring, index);
	uint64_t head = atomic_load_explicit(&e->head, memory_order_acquire);
	out->n = 1;
	if (!is_published(head, ring, index)) {
		return ENTRY_UNPUBLISHED;
	}
	uint64_t body = e->body;
	enum wire_kind kind = wire_head_kind(head);
	switch (kind) {
	case KIND_VOID: return ENTRY_NOTHING;
	case KIND_TIME: take_label(o, r, body); return ENTRY_NOTHING;
	case KIND_STAMP: r->base = body; return ENTRY_NOTHING;
	case KIND_EPOCH: take_epoch(o, r, body); return ENTRY_NOTHING;
	case KIND_WIDE: return read_wide(r, ring, index, head, body, out);
	default: break;
	}
	if (!is_event(kind) || wire_body_size(body) == WIRE_SIZE_WIDE) {
		return ENTRY_BAD; // unknown kind, or without its prefix
	}
	fill_event(r, out, head, body, address_of(head, wire_head_ptr(head)), wire_body_size(body));
	return ENTRY_EVENT;
}

// ---- in order

enum { AHEAD_NODE = 12 }; // how many entries before its turn an entry's node is prefetched

/** Past an entry, but never past what is reserved, even if it was overwritten. */
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
		case ENTRY_BAD: o->counts.bad_entries++; break;
		}
		step(r, ring, entry->n);
	}
}

enum order_next order_peek(struct order *o, struct reader *r) {
	struct entry entry;
	return find(o, r, &entry);
}

/** Prefetch the node of a later entry, if published: before, its body may be being written. */
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
 * The fast path: plain events (nearly all) of one epoch, up to a stamp. The loop works on locals,
 * since its stores might alias anything. True: the next event is newer.
 */
static ATTR_INLINE bool drain_plain(struct order *o, struct reader *r, uint64_t limit) {
	const unsigned ring = r->ring;
	const uint64_t at = r->at[ring];
	const uint64_t lap_end = (at | (wire_ring_entries(ring) - 1)) + 1; // until then the phase stays
	const uint64_t n = (lap_end < r->end[ring] ? lap_end : r->end[ring]) - at;
	const struct wire_event *const begin = entry_at(r, ring, at);
	const struct wire_event *const end = begin + n;
	const struct wire_event *e = begin;
	const uint64_t phase = wire_phase(at, wire_ring_log2(ring)), label_ns = r->label_ns;
	const uint32_t thread = r->thread;
	struct tries *const tries = r->source->tries;
	struct trace_event *out = order_room(o);
	const uint64_t base = r->base;
	uint64_t last = 0, stamp = 0;
	while (e < end) {
		uint64_t head = atomic_load_explicit(&e->head, memory_order_acquire);
		unsigned kind = (unsigned)((head ^ phase) >> WIRE_KIND_SHIFT); // over 15: unpublished
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
				.thread = thread & TRACE_THREAD_MAX,
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
		RAISE_TO(r->source->reached, r->key);
	}
	if (is_younger) {
		r->key = order_key_of(r->epoch, stamp);
	}
	return is_younger;
}

enum order_next order_drain(struct order *o, struct reader *r, order_key limit) {
	for (;;) {
		uint64_t stamp;
		bool is_younger = reaches(r, limit, &stamp) && drain_plain(o, r, stamp);
		if (r->at[r->ring] - r->told[r->ring] >= wire_ring_entries(r->ring) / 8) {
			order_tell_taken(r);
		}
		if (is_younger) {
			return NEXT_EVENT;
		}
		struct entry entry;
		enum order_next next = find(o, r, &entry);
		if (next != NEXT_EVENT || entry.key > limit) {
			return next;
		}
		order_emit(o, &entry.event);
		RAISE_TO(r->source->reached, entry.key);
		step(r, r->ring, entry.n);
	}
}

// ---- events after an unpublished entry

/*
 * A reserved, unpublished entry holds its ring up: its thread is between the two steps, or a signal
 * handler, whose events follow, interrupted it there. Once other threads no longer wait for it, the
 * events after it are taken, and voided: published entries are the collector's.
 */

static void make_void(const struct reader *r, unsigned ring, uint64_t index, uint32_t n) {
	for (uint64_t i = index; i < index + n; i++) {
		atomic_store_explicit(&entry_at(r, ring, i)->head,
				wire_head(wire_phase(i, wire_ring_log2(ring)), KIND_VOID, 0, 0),
				memory_order_relaxed);
	}
}

/** What is no event may be the second half of one being published. */
static void look_through(struct order *o, struct reader *r, unsigned ring) {
	struct entry entry;
	for (uint64_t i = r->at[ring]; i < r->end[ring]; i += entry.n) {
		if (read_entry(o, r, ring, i, &entry) != ENTRY_EVENT) {
			continue;
		}
		if (entry.key > o->horizon) {
			return;
		}
		order_set_late(o, entry.key < r->source->reached);
		order_emit(o, &entry.event);
		o->counts.late += o->is_late;
		RAISE_TO(r->source->reached, entry.key);
		make_void(r, ring, i, entry.n);
		o->counts.looked_behind++;
	}
}

void order_look_behind(struct order *o, struct reader *r) {
	const struct reader before = *r;
	look_through(o, r, r->ring);
	if (r->ring == RING_SMALL) {
		look_through(o, r, RING_BIG);
	}
	order_set_late(o, false);
	COPY_FIELDS(r, &before, epoch, base, label_ns);
}
