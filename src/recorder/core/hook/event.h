// SPDX-License-Identifier: MIT
#pragma once
/**
 * Writes an event into its thread's ring: reserve an entry, read the epoch, take a stamp, write,
 * publish. hook_put does it for an event that fits one entry; event.c has the others.
 */

#include "recorder/core/thread.h"

/** Write an event that may be due a label, or whose pointer or size does not fit an entry. */
void hook_write_odd(struct thread_state *s, enum wire_kind kind, uint64_t ptr, uint64_t size,
		uint32_t node);

/** Write an event again: its epoch or stamp needs more entries, or a handler came in between. */
bool hook_put_again(struct thread_state *s, uint64_t index, const struct ring_event *event);

/** Wake the collector if it sleeps, and notice if it is gone. */
void hook_tell_collector(void);

/** The next stamp (wire/segment.h), for a reserved entry. */
static inline uint64_t hook_take_stamp(void) {
	struct wire_common *c = segment.common;
	if (unlikely(atomic_load_explicit(&c->stamps, memory_order_relaxed) != STAMPS_CLOCK)) {
		return atomic_fetch_add(&c->stamp, 1);
	}
	// If no other thread ever had an event: the ring orders its own, the clock those of processes
	uint32_t n_claims = atomic_load_explicit(&segment.header->n_claims, memory_order_relaxed);
	bool is_alone = n_claims - segment.n_claims_before == 1;
	return is_alone ? machine_early_stamp() : machine_stamp();
}

/**
 * Does an event need more than its own entry: may a label be due, or do pointer or size not fit?
 */
static inline bool hook_is_odd(const struct thread_state *s, uint64_t ptr, uint64_t size) {
	uint64_t tick_ns = atomic_load_explicit(&segment.common->tick_ns, memory_order_relaxed);
	return tick_ns != s->tick_ns || wire_is_wide(ptr, size);
}

/**
 * Write an event that is not odd. True: hook_tell_collector() is due.
 *
 * If the epoch is that of before the entry was reserved, no handler has put a newer one behind it.
 * What a handler puts behind it before it has a stamp has an older stamp; then it is written again.
 *
 * Pairs with order_complete_epochs() and take_horizon(): a thread that reads the old epoch or clock
 * has reserved its entry before, in program order. A fence that shows this to the collector at once
 * would cost each event as much as a stamp; instead, the collector waits as long as stores and
 * loads may take (ORDER_SLACK). A counted stamp needs no time: the add is sequentially consistent,
 * so who sees it sees what was reserved.
 */
static inline bool hook_put(struct thread_state *s, enum wire_kind kind, uint64_t ptr,
		uint64_t size, uint32_t node) {
	uint64_t before = s->epoch;
	uint64_t index = ring_reserve(&s->ring, 1);
	ring_prefetch(&s->ring, index);
	struct ring_event event = {.kind = kind, .node = node, .ptr = ptr, .size = size};
	uint64_t epoch = atomic_load_explicit(&segment.common->epoch, memory_order_relaxed);
	if (unlikely(epoch != before)) {
		return hook_put_again(s, index, &event);
	}
	if (wire_epoch_owner(epoch) == 0) {
		event.stamp = hook_take_stamp();
		if (unlikely(event.stamp - s->stamp >= WIRE_STAMP_REACH ||
					ring_reserved(&s->ring) != index + 1)) {
			return hook_put_again(s, index, &event);
		}
	}
	ring_publish_event(&s->ring, index, &event);
	return ring_crossed_quarter(&s->ring, index, 1);
}

static inline void hook_write(struct thread_slot *slot, enum wire_kind kind, uint64_t ptr,
		uint64_t size, uint32_t node) {
	struct thread_state *s = thread_state_of(slot);
	if (unlikely(hook_is_odd(s, ptr, size))) {
		hook_write_odd(s, kind, ptr, size, node);
	} else if (unlikely(hook_put(s, kind, ptr, size, node))) {
		hook_tell_collector();
	}
}
