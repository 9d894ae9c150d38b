// SPDX-License-Identifier: MIT
/* The rare operations on a ring: opening it, looking for room, voiding entries. */
#include "recorder/core/ring.h"

void ring_open(struct ring *r, struct thread_slot *slot, unsigned which) {
	uint32_t n = wire_ring_entries(which);
	r->shared = &slot->rings[which];
	r->entries = (struct wire_event *)((unsigned char *)slot + wire_ring_at(which));
	r->mask = n - 1;
	r->log2 = wire_ring_log2(which);
	r->limit = atomic_load_explicit(&r->shared->taken, memory_order_acquire) + n;
}

bool ring_look_for_room(struct ring *r, uint32_t n) {
	// Pairs with order_tell_taken(), which has read the entries to be overwritten. Sequentially
	// consistent, like its stores and our store of `owner_waits`: either it sees that we wait, or
	// we see what it has taken. With a weaker order this load could precede that store
	r->limit = atomic_load(&r->shared->taken) + r->mask + 1;
	return ring_has_room(r, n);
}

bool ring_is_blocked_by_owner(const struct ring *r, uint32_t n) {
	uint64_t end = ring_reserved(r);
	uint64_t index = atomic_load_explicit(&r->shared->taken, memory_order_relaxed);
	while (index < end &&
			(atomic_load_explicit(&r->entries[index & r->mask].head, memory_order_relaxed) &
					1ull << 63) == wire_phase(index, r->log2)) { // published
		index++;
	}
	// The collector can get as far as `index`
	return end + n > index + r->mask + 1;
}

uint32_t ring_void(struct ring *r, uint64_t first) {
	uint64_t end = ring_reserved(r);
	uint64_t taken = atomic_load_explicit(&r->shared->taken, memory_order_relaxed);
	uint32_t n_voided = 0;
	for (uint64_t i = first < taken ? taken : first; i < end; i++) {
		_Atomic uint64_t *head = &r->entries[i & r->mask].head;
		uint64_t seen = atomic_load_explicit(head, memory_order_relaxed);
		// By exchange: a handler that interrupts this may do the same
		if ((seen & 1ull << 63) != wire_phase(i, r->log2) &&
				atomic_compare_exchange_strong_explicit(head, &seen,
						wire_phase(i, r->log2) | wire_head(0, KIND_VOID, 0, 0),
						memory_order_release, memory_order_relaxed)) {
			n_voided++;
		}
	}
	return n_voided;
}

void ring_publish_wide(struct ring *r, uint64_t index, const struct ring_event *event) {
	ring_publish(r, index, wire_wide_head(0, event->ptr), wire_wide_body(event->ptr, event->size));
	ring_publish(r, index + 1,
			wire_head(0, event->kind, event->stamp, wire_map_in_ptr(wire_map_sort_of(event->ptr))),
			wire_body(event->node, WIRE_SIZE_WIDE, event->stamp));
}
