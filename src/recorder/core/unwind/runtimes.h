// SPDX-License-Identifier: MIT
#pragma once
/**
 * The program's runtimes, as described by the collector. Any thread, any signal handler, no lock.
 */

#include "recorder/core/segment.h"

struct runtime {
	const struct wire_layout *layout;
	uint32_t row, module; // of the layout; the virtual one
};

/** Those in force, which are only ever added. */
extern LOCAL struct runtime runtimes[WIRE_N_LAYOUTS];
extern LOCAL _Atomic uint32_t runtimes_n;

/** The runtime, if there is exactly one; else NULL. */
static inline const struct runtime *runtimes_only(void) {
	// Pairs with the store of runtimes_take()
	return atomic_load_explicit(&runtimes_n, memory_order_acquire) == 1 ? runtimes : NULL;
}

/** The runtime of a frame's `where`, which is code without unwind tables if it is in no module. */
const struct runtime *runtimes_find(uint64_t where);

static inline bool runtimes_cover(uint64_t where) {
	// Pairs with the store of runtimes_take()
	return atomic_load_explicit(&runtimes_n, memory_order_acquire) > 0 &&
			runtimes_find(where) != NULL;
}

extern LOCAL _Atomic uint32_t runtimes_seen;
COLD void runtimes_take(void);

/** Look for new ones; if there are, code_generation rises. */
static inline void runtimes_look(void) {
	if (unlikely(atomic_load_explicit(&segment.header->runtime_generation, memory_order_relaxed) !=
				atomic_load_explicit(&runtimes_seen, memory_order_relaxed))) {
		runtimes_take();
	}
}
