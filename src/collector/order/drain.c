// SPDX-License-Identifier: MIT
/*
 * Takes the events of one thread in order: first the small ring, then the big one.
 *
 * The big ring is read once the thread has moved on to it and the small one is drained.
 */
#include "collector/order/entry.h"

enum { AHEAD_NODE = 12 }; // an entry's node is prefetched so many entries before its turn

/** Past an entry, but never past what is reserved, even if the entry was overwritten. */
static void step(struct reader *r, unsigned ring, uint32_t n) {
	r->at[ring] = r->at[ring] + n < r->end[ring] ? r->at[ring] + n : r->end[ring];
}

static enum order_next find(struct order *o, struct reader *r, struct order_entry *entry) {
	for (;;) {
		unsigned ring = r->ring;
		if (r->at[ring] >= r->end[ring]) {
			if (ring == RING_BIG || r->end[RING_BIG] == r->at[RING_BIG]) {
				return NEXT_DRY;
			}
			r->ring = RING_BIG;
			continue;
		}
		switch (order_read_entry(o, r, ring, r->at[ring], entry)) {
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
		}
		step(r, ring, entry->n);
	}
}

enum order_next order_peek(struct order *o, struct reader *r) {
	struct order_entry entry;
	return find(o, r, &entry);
}

/** Prefetch the node of a later entry, if that is published: before, its body may be written. */
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
 * The fast path: plain events of one epoch up to a stamp. Nearly all events are plain. Locals hold
 * what the loop needs, since its stores might alias anything. True: the next event is younger.
 */
static ATTR_INLINE bool drain_plain(struct order *o, struct reader *r, uint64_t limit) {
	const unsigned ring = r->ring;
	const uint64_t at = r->at[ring];
	const uint64_t lap_end = (at | (wire_ring_entries(ring) - 1)) + 1; // so far the phase stays
	const uint64_t n = (lap_end < r->end[ring] ? lap_end : r->end[ring]) - at;
	const struct wire_event *const begin = order_entry_at(r, ring, at);
	const struct wire_event *const end = begin + n;
	const struct wire_event *e = begin;
	const uint64_t phase = order_phase(at, order_ring_shift[ring]);
	const uint64_t label_ns = r->label_ns;
	const uint32_t thread = r->thread;
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
		o->reached = r->key > o->reached ? r->key : o->reached;
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
		struct order_entry entry;
		enum order_next next = find(o, r, &entry);
		if (next != NEXT_EVENT || entry.key > limit || o->has_failed) {
			return next;
		}
		order_emit(o, &entry.event);
		o->reached = entry.key > o->reached ? entry.key : o->reached;
		step(r, r->ring, entry.n);
	}
}
