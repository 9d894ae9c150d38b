// SPDX-License-Identifier: MIT
#pragma once
/**
 * The owner's side of a ring (wire/event.h). Called by the slot's thread and by signal handlers
 * that interrupt it anywhere, even in here. Nothing waits or makes a system call.
 */

#include "machine.h"
#include "wire/event.h"

#include <stdbool.h>

/** A thread's view of its current ring. */
struct ring {
	struct wire_ring *shared;
	struct wire_event *entries;
	uint64_t limit; // entries below this index are free: the last `taken` seen + size
	uint32_t mask;  // number of entries - 1
	uint32_t log2;  // of the number of entries
};

struct ring_event {
	enum wire_kind kind;
	uint64_t stamp; // whole; 0: none, the epoch is the thread's own
	uint32_t node;
	uint64_t ptr;
	uint64_t size;
};

// The most entries that one event takes: a voided one; then an epoch, a stamp, a time, a prefix and
// the event, twice, as a handler may come in between
enum { RING_EVENT_ENTRIES = 1 + 2 * 5 };

/** Begin to write to a slot's small or big ring. */
void ring_open(struct ring *r, struct thread_slot *slot, unsigned which);

static inline uint64_t ring_reserved(const struct ring *r) {
	return atomic_load_explicit(&r->shared->reserved, memory_order_relaxed);
}

/** Do `n` more entries fit, given what was last seen of the collector? */
static inline bool ring_has_room(const struct ring *r, uint32_t n) {
	return ring_reserved(r) + n <= r->limit;
}

/** Look at the collector's progress again; true if `n` more entries fit. */
bool ring_look_for_room(struct ring *r, uint32_t n);

/** True if `n` entries cannot fit until this thread publishes those it has interrupted. */
bool ring_is_blocked_by_owner(const struct ring *r, uint32_t n);

/**
 * Publish as KIND_VOID all entries from `first` on that are reserved but not published, as the
 * hooks that reserved them are gone. Returns their number.
 */
uint32_t ring_void(struct ring *r, uint64_t first);

/** Did taking `n` entries at `index` cross a quarter of the ring, so that the bell is due? */
static inline bool ring_crossed_quarter(const struct ring *r, uint64_t index, uint32_t n) {
	return ((index + n) & (r->mask >> 2)) < n;
}

/** Publish one entry. Pairs with the collector's acquire load of `head`. */
static inline void ring_publish(struct ring *r, uint64_t index, uint64_t head, uint64_t body) {
	struct wire_event *entry = &r->entries[index & r->mask];
	entry->body = body;
	atomic_store_explicit(&entry->head, wire_phase(index, r->log2) | head, memory_order_release);
}

/** Prefetch a cache line to write soon. The collector was the last to read it. */
static inline void ring_prefetch(const struct ring *r, uint64_t index) {
	enum { AHEAD = 12 };
	machine_prefetch_to_write(&r->entries[(index + AHEAD) & r->mask]);
}

static inline uint64_t ring_reserve(struct ring *r, uint32_t n) {
	return machine_local_add(&r->shared->reserved, n);
}

/** Publish an event that fits its entry. */
static inline void ring_publish_event(struct ring *r, uint64_t index,
		const struct ring_event *event) {
	ring_publish(r, index, wire_head(0, event->kind, event->stamp, event->ptr),
			wire_body(event->node, (uint32_t)event->size, event->stamp));
}

/** Publish an event whose pointer or size does not fit, in two entries. */
void ring_publish_wide(struct ring *r, uint64_t index, const struct ring_event *event);

/** Publish what holds for later entries: a KIND_TIME, KIND_STAMP or KIND_EPOCH. */
static inline void ring_publish_value(struct ring *r, uint64_t index, enum wire_kind kind,
		uint64_t value) {
	ring_publish(r, index, wire_head(0, kind, 0, 0), value);
}

static inline void ring_publish_void(struct ring *r, uint64_t index, uint32_t n) {
	for (uint32_t i = 0; i < n; i++) {
		ring_publish(r, index + i, wire_head(0, KIND_VOID, 0, 0), 0);
	}
}
