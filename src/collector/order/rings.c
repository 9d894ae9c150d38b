// SPDX-License-Identifier: MIT
/* How far a thread's rings are reserved, and how far the owner knows that they are taken. */
#include "collector/order/parts.h"
#include "sys/futex.h"

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
	// The big ring first: a thread with entries there no longer writes to the small one
	r->end[RING_BIG] = reserved(r, RING_BIG);
	r->end[RING_SMALL] = reserved(r, RING_SMALL);
}

void order_look(struct order *o, struct reader *r) {
	if (!r->is_gone) {
		see_ends(r);
	}
	// The small ring may still fill: with the event of a hook that the moving one interrupted
	if (r->end[RING_SMALL] != r->at[RING_SMALL]) {
		r->ring = RING_SMALL;
	}
	uint64_t n_big = r->end[RING_BIG] - r->at[RING_BIG];
	o->is_crowded |= n_big > RING_BIG_ENTRIES / 2;
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
		// Pairs with wait_for_room(): the owner says that it waits, then checks `taken` once more
		atomic_store(&shared->taken, taken);
		if (atomic_load(&shared->owner_waits)) {
			atomic_fetch_add(&shared->room, 1);
			futex_wake(&shared->room, INT32_MAX);
		}
	}
}
