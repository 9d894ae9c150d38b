// SPDX-License-Identifier: MIT
/*
 * Takes events from behind an entry that is reserved and not published.
 *
 * Such an entry holds its ring up: its thread is between the two steps, or a signal handler has
 * interrupted it there. What the handler publishes is behind it. Once the other threads no longer
 * wait for the entry, the events behind it are taken, and overwritten as void: published entries
 * are the collector's.
 */
#include "collector/order/entry.h"

static void make_void(const struct reader *r, unsigned ring, uint64_t index, uint32_t n) {
	for (uint64_t i = index; i < index + n; i++) {
		atomic_store_explicit(&order_entry_at(r, ring, i)->head,
				wire_head(wire_phase(i, wire_ring_entries(ring)), KIND_VOID, 0, 0),
				memory_order_relaxed);
	}
}

/** What is no event may be the second half of one that is being published. */
static void look_through(struct order *o, struct reader *r, unsigned ring) {
	struct order_entry entry;
	for (uint64_t i = r->at[ring]; i < r->end[ring]; i += entry.n) {
		if (order_read_entry(o, r, ring, i, &entry) != ENTRY_EVENT) {
			continue;
		}
		if (entry.key > o->horizon) {
			return;
		}
		order_set_late(o, entry.key < o->reached);
		order_emit(o, &entry.event);
		o->counts.late += entry.key < o->reached;
		o->reached = entry.key > o->reached ? entry.key : o->reached;
		make_void(r, ring, i, entry.n);
		o->counts.looked_behind++;
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
