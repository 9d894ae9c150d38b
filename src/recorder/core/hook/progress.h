// SPDX-License-Identifier: MIT
#pragma once
/**
 * The hooks in progress on a thread, innermost last, and those that a jump abandoned. A hook lies
 * on its function's stack; one store of its address into the thread's state makes it known. A
 * signal handler may run between any two instructions here.
 */

#include "recorder/core/thread.h"

/** A hook in progress, on the stack of the replaced function while the real one runs. */
struct hook {
	uint64_t mark; // hook_mark() of it, overwritten some time after a jump has left the hook
	uint64_t sp;   // the caller's
	struct thread_slot *slot;
	uint32_t level; // hooks in progress on this thread when it began
	uint32_t node;  // of the caller's stack
};

/** Entries that a hook may need, and those kept free for handlers that interrupt it. */
enum { HOOK_ENTRIES = 2 * RING_EVENT_ENTRIES, HOOK_ENTRIES_FOR_HANDLERS = 64 };

static inline uint64_t hook_mark(const struct hook *h) {
	return (uint64_t)h ^ 0x9E3779B97F4A7C15ull;
}

/** Make a hook known, by one store once everything is in place. */
static inline void hook_begin(struct thread_hook *t, struct hook *h, uint64_t sp,
		uint64_t n_reserved) {
	h->mark = hook_mark(h);
	h->sp = sp;
	t->reserved = n_reserved;
	atomic_signal_fence(memory_order_seq_cst);
	atomic_store_explicit(&t->hook, h, memory_order_relaxed);
	atomic_signal_fence(memory_order_seq_cst);
}

static inline struct hook *hook_at(struct thread_state *s, unsigned level) {
	return atomic_load_explicit(&s->hooks[level].hook, memory_order_relaxed);
}

static inline void hook_forget(struct thread_state *s, unsigned level) {
	atomic_signal_fence(memory_order_seq_cst);
	atomic_store_explicit(&s->hooks[level].hook, NULL, memory_order_relaxed);
}

/** Is a hook that begins now the thread's only one, and is there room for it? */
static inline bool hook_is_plain(struct thread_state *s, uint64_t n_reserved) {
	return hook_at(s, 0) == NULL &&
			n_reserved + HOOK_ENTRIES + HOOK_ENTRIES_FOR_HANDLERS <= s->ring.limit;
}

/** Is a plain hook still the thread's only one? A handler's may have been abandoned above it. */
static inline bool hook_is_still_plain(struct thread_slot *slot) {
	return hook_at(thread_state_of(slot), 1) == NULL;
}

/** Clean up the abandoned hooks from `level` on: void their entries, answer their reallocs. */
void hook_clean_up(struct thread_slot *slot, unsigned level);

/** The number of hooks in progress on this thread, once abandoned ones are cleaned up. */
unsigned hook_count(struct thread_slot *slot, uint64_t sp);
