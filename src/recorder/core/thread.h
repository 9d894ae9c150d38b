// SPDX-License-Identifier: MIT
#pragma once
/**
 * The state of a thread in the private part of its slot, with its hooks in progress. Used by the
 * thread itself and by its signal handlers. A hook in progress is an element of `hooks`; its data
 * lie on its function's stack. One store of their address makes them known, so handlers find them
 * complete or not at all. The outermost hook is hooks[0]; a handler that interrupts it and
 * allocates uses hooks[1].
 */

#include "recorder/core/capture/capture.h"
#include "recorder/core/ring.h"
#include "recorder/core/segment.h"

enum { THREAD_LEVELS = 3 };

struct hook;
struct thread_hook {
	_Atomic(struct hook *) hook; // NULL: none in progress
	// Of the ring when the hook began: its entries lie behind. Written before `hook`; a handler in
	// between raises it, but only past entries of its own
	uint64_t reserved;
	_Atomic uint64_t open_realloc; // old block of a KIND_REALLOC that awaits its answer, or 0
	_Atomic bool may_throw;        // an abandoned hook then means a failed call
};

struct thread_state {
	struct thread_hook hooks[THREAD_LEVELS];
	struct ring ring;
	uint64_t epoch;    // the last one published
	uint64_t stamp;    // the last whole one published, or an older one; 0: none
	uint64_t tick_ns;  // the collector's tick when `label_ns` was last looked at
	uint64_t label_ns; // of the last KIND_TIME written
	struct capture *captures[THREAD_LEVELS];
	uint64_t open_bytes; // of the slot, once the outermost level has a large context
};
enum { THREAD_STATE_BYTES = 512 }; // the thread's small context follows
_Static_assert(sizeof(struct thread_state) <= THREAD_STATE_BYTES, "fits its place");
_Static_assert(offsetof(struct thread_state, hooks[0].hook) == 0, "as wire/event.h says");

static inline struct thread_state *thread_state_of(struct thread_slot *slot) {
	return (struct thread_state *)((unsigned char *)slot + SLOT_PRIVATE_AT);
}

/** Raise one of the slot's counters; only its thread writes them. */
static inline void thread_count(_Atomic uint64_t *counter, uint64_t n) {
	(void)machine_local_add(counter, n);
}

/** Take a slot for this thread. NULL: none is free, which is counted. */
struct thread_slot *thread_claim(void);

/** The context of a level, made at its first use. A hook of that level is in progress. */
struct capture *thread_capture(struct thread_slot *slot, unsigned level);

/** Give the outermost level a larger context, for a busy thread or a deep stack. False: no room. */
bool thread_grow(struct thread_slot *slot);
