// SPDX-License-Identifier: MIT
/* Reads one entry of a ring, of which nothing is trusted. */
#include "collector/order/entry.h"

static const uint64_t label_slack_ns = 100 * 1000 * 1000; // by which clocks may differ

_Static_assert((int)KIND_ALLOC == (int)TRACE_ALLOC && (int)KIND_FREE == (int)TRACE_FREE &&
				(int)KIND_REALLOC == (int)TRACE_REALLOC && (int)KIND_MOVED == (int)TRACE_MOVED &&
				(int)KIND_STAYED == (int)TRACE_STAYED,
		"kinds are passed on as they are");

static inline bool is_published(uint64_t head, unsigned shift, uint64_t index) {
	return head >> 63 != (index >> shift & 1);
}

static uint64_t stamp_of(const struct reader *r, uint64_t head, uint64_t body) {
	return r->base == 0 ? 0 : wire_stamp(r->base, head, body);
}

static void fill_event(struct order *o, const struct reader *r, struct order_entry *out,
		uint64_t head, uint64_t body, uint64_t ptr, uint64_t size) {
	uint32_t kind = wire_head_kind(head);
	out->key = order_key_of(r->epoch, stamp_of(r, head, body));
	out->event = (struct trace_event){
			.ptr = ptr,
			.size = size,
			.time_ns = r->label_ns,
			.node = tries_node(o->tries, wire_body_node(body)),
			.thread = r->thread & TRACE_THREAD_MAX,
			.kind = kind & 0xf,
	};
}

static inline bool is_other(const struct order *o, uint32_t kind) {
	return kind == KIND_RATE || kind == KIND_FORK ||
			(order_is_mapping(kind) && o->sink.mapping == NULL);
}

static inline bool is_event(uint32_t kind) {
	return kind <= KIND_STAYED || order_is_mapping(kind);
}

/** The address of an event; of a mapping, its page, and what is said of it in the low bits. */
static inline uint64_t address_of(uint64_t head, uint64_t ptr) {
	return order_is_mapping(wire_head_kind(head))
			? (ptr & -(uint64_t)WIRE_PAGE_LEAST) | wire_map_sort_of(wire_head_ptr(head))
			: ptr;
}

/** A prefix and the event it belongs to. */
static enum order_entry_is read_wide(struct order *o, const struct reader *r, unsigned ring,
		uint64_t index, uint64_t wide_head, uint64_t wide_body, struct order_entry *out) {
	struct wire_event *e = order_entry_at(r, ring, index + 1);
	uint64_t head = atomic_load_explicit(&e->head, memory_order_acquire);
	if (!is_published(head, order_ring_shift[ring], index + 1) ||
			(r->is_gone && index + 1 >= r->end[ring])) {
		// A prefix means nothing if its thread died before it published the event
		return r->is_gone ? ENTRY_NOTHING : ENTRY_UNPUBLISHED;
	}
	enum wire_kind kind = wire_head_kind(head);
	uint64_t body = e->body;
	if (kind == KIND_VOID) {
		out->n = 2;
		return ENTRY_NOTHING;
	}
	if (is_other(o, kind)) {
		out->n = 2;
		return ENTRY_OTHER;
	}
	if (!is_event(kind) || wire_body_size(body) != WIRE_SIZE_WIDE) {
		return ENTRY_BAD;
	}
	out->n = 2;
	fill_event(o, r, out, head, body, address_of(head, wire_wide_ptr(wide_head, wide_body)),
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

enum order_entry_is order_read_entry(struct order *o, struct reader *r, unsigned ring,
		uint64_t index, struct order_entry *out) {
	struct wire_event *e = order_entry_at(r, ring, index);
	uint64_t head = atomic_load_explicit(&e->head, memory_order_acquire);
	out->n = 1;
	if (!is_published(head, order_ring_shift[ring], index)) {
		return ENTRY_UNPUBLISHED;
	}
	uint64_t body = e->body;
	enum wire_kind kind = wire_head_kind(head);
	switch (kind) {
	case KIND_VOID: return ENTRY_NOTHING;
	case KIND_TIME: take_label(o, r, body); return ENTRY_NOTHING;
	case KIND_STAMP: r->base = body; return ENTRY_NOTHING;
	case KIND_EPOCH: take_epoch(o, r, body); return ENTRY_NOTHING;
	case KIND_WIDE: return read_wide(o, r, ring, index, head, body, out);
	default: break;
	}
	if (is_other(o, kind)) {
		return ENTRY_OTHER;
	}
	if (!is_event(kind) || wire_body_size(body) == WIRE_SIZE_WIDE) {
		return ENTRY_BAD; // of no known kind, or without its prefix
	}
	fill_event(o, r, out, head, body, address_of(head, wire_head_ptr(head)), wire_body_size(body));
	return ENTRY_EVENT;
}
