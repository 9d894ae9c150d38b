// SPDX-License-Identifier: MIT
#pragma once
/**
 * What every replaced function does around the real one: a *hook*.
 *
 *      struct hook h;
 *      if (!hook_enter(&h, MACHINE_CALLER(), true)) {
 *          return real_malloc(size);            // not recorded
 *      }
 *      void *block = real_malloc(size);
 *      hook_allocated(&h, block, size);
 *      hook_leave(&h);
 *
 * Any thread, any signal handler; errno is unchanged. Only hook_enter may wait, for a bounded time,
 * to make room for all that the hook may write (one hook_free, or hook_resize and hook_resized, or
 * hook_allocated), so nothing waits between the real call and its event.
 *
 * Hooks can be in progress inside each other: within the real function, a signal handler or that
 * function itself may allocate. hook_enter tells which (docs/wire.md, "Hooks within hooks").
 *
 * A hook is *plain* if it is the outermost one of a thread that has a slot, with room in its ring.
 * Nearly all calls are malloc and free by a plain hook while everything is recorded. They take the
 * *fast path* at the end of this header: the slot stays in a register, and three tests after the
 * real function show that nothing has changed. A call that turns out to be different even then
 * continues as above. Hooks that are not plain begin in enter.c.
 */

#include "recorder/core/hook/event.h"
#include "recorder/core/hook/progress.h"
#include "recorder/core/switch.h"
#include "recorder/core/unwind/modules.h"

// A file whose hooks are rarely called defines it differently, for size
#ifndef HOOK_INLINE
#define HOOK_INLINE INLINE
#endif

/** hook_enter_as for all but plain hooks. */
bool hook_enter_slowly(struct hook *h, const struct capture_regs *caller, bool wants_stack,
		bool *is_inside);

/** Count an incomplete stack. True: there is a larger context now, try again. */
bool hook_capture_again(struct thread_slot *slot, unsigned level);

/** Capture again if there was no context, or a larger one is to be had; else `node` is the best. */
uint32_t hook_capture_more(struct thread_slot *slot, const struct capture_regs *caller,
		uint32_t node);

/** The ends of hooks that began on the fast path and cannot end there. */
void hook_end_allocation_slowly(struct hook *h, struct thread_slot *slot, const void *block,
		uint64_t size, uint32_t node);
void hook_end_free_slowly(struct hook *h, struct thread_slot *slot);

/** Does the recording want the stacks of frees, too? */
static inline bool hook_wants_free_stacks(void) {
	return (segment.options & SEGMENT_FREE_STACKS) != 0;
}

/** The address of a block in tables and events. */
static inline uint64_t hook_address(const void *block) {
	return machine_untag((uint64_t)block);
}

static inline uint32_t hook_free_node(const struct hook *h) {
	return hook_wants_free_stacks() ? h->node : 0;
}

// ---- any hook

/** The stack of a caller. An incomplete one is counted. */
static inline struct capture_result hook_capture(struct thread_slot *slot, unsigned level,
		const struct capture_regs *caller, uint64_t stop_sp) {
	struct thread_state *s = thread_state_of(slot);
	struct capture_result result;
	do {
		struct capture *capture = s->captures[level];
		if (unlikely(capture == NULL)) {
			capture = thread_capture(slot, level);
		}
		result = capture_stack(capture, caller, stop_sp);
	} while (unlikely(result.is_truncated) && hook_capture_again(slot, level));
	return result;
}

/** Store what the end of a plain hook needs. */
static inline void hook_keep_plain(struct hook *h, struct thread_slot *slot, uint32_t node) {
	h->slot = slot;
	h->level = 0;
	h->node = node;
}

/** Begin a hook if it is plain and everything is recorded. NULL: nothing was done. */
HOOK_INLINE struct thread_slot *hook_begin_plain(const struct thread_words *self, struct hook *h,
		uint64_t sp) {
	struct thread_slot *slot = self->slot;
	if (unlikely(!switch_is_on() || slot == NULL)) {
		return NULL;
	}
	struct thread_state *s = thread_state_of(slot);
	uint64_t n_reserved = ring_reserved(&s->ring);
	if (unlikely(!hook_is_plain(s, n_reserved))) {
		return NULL;
	}
	hook_begin(&s->hooks[0], h, sp, n_reserved);
	return slot;
}

/**
 * Begin a hook. False: the call is not to be recorded, or cannot be (which is counted): call only
 * the real function, and nothing else of this header. `self`: the calling thread's, thread_self.
 * `is_inside`: NULL, or the hook is recorded also inside another hook's real function, and this,
 * false before, says whether it is.
 */
HOOK_INLINE bool hook_enter_as(const struct thread_words *self, struct hook *h,
		struct capture_regs caller, bool wants_stack, bool *is_inside) {
	struct thread_slot *slot = hook_begin_plain(self, h, caller.sp);
	if (unlikely(slot == NULL)) {
		return !switch_is_off() && hook_enter_slowly(h, &caller, wants_stack, is_inside);
	}
	hook_keep_plain(h, slot, wants_stack ? hook_capture(slot, 0, &caller, 0).node : 0);
	return true;
}

HOOK_INLINE bool hook_enter(struct hook *h, struct capture_regs caller, bool wants_stack) {
	return hook_enter_as(&thread_self, h, caller, wants_stack, NULL);
}

static inline void hook_leave(struct hook *h) {
	if (unlikely(!switch_is_still_on_or_paused())) {
		return; // turned off, or we are a forked child by now: the slot is our parent's
	}
	struct thread_slot *slot = h->slot;
	struct thread_state *s = thread_state_of(slot);
	if (unlikely(h->level + 1 < THREAD_LEVELS && hook_at(s, h->level + 1) != NULL)) {
		hook_clean_up(slot, h->level + 1);
	}
	hook_forget(s, h->level);
}

/** An exception may, or can no longer, leave the real function: it then found no memory. */
static inline void hook_set_may_throw(const struct hook *h, bool may_throw) {
	atomic_store_explicit(&thread_state_of(h->slot)->hooks[h->level].may_throw, may_throw,
			memory_order_relaxed);
}

/** The real function returned `block` of `size` bytes (NULL: it failed). */
static inline void hook_allocated(struct hook *h, const void *block, uint64_t size) {
	if (unlikely(!switch_is_on())) {
		return;
	}
	if (unlikely(block == NULL)) {
		thread_count(&h->slot->failed, 1);
		return;
	}
	hook_write(h->slot, KIND_ALLOC, hook_address(block), size, h->node);
}

/** The real function is about to release `block`. */
static inline void hook_free(struct hook *h, const void *block) {
	hook_write(h->slot, KIND_FREE, hook_address(block), 0, hook_free_node(h));
}

/**
 * The real function is about to resize `block` to `size` bytes. With NULL that is an allocation,
 * with 0 bytes a free; if an allocator returns a block for that, it is an allocation.
 */
void hook_resize(struct hook *h, const void *block, uint64_t size);

/**
 * It has: `now` replaces `block` (NULL: it failed). `is_late`: the recording ended meanwhile, and a
 * block that would have moved counts as unchanged.
 */
void hook_resized(struct hook *h, const void *block, uint64_t size, const void *now, bool is_late);

/** The time now, as a label for what this thread records next. */
uint64_t hook_label_now(const struct hook *h);

// ---- what a tree of processes is told

/** The process is about to copy itself: by the fork of this number (switch_join). 0: not told. */
uint32_t hook_note_fork(struct capture_regs caller);

/** The process is about to end, and has nothing more to free. */
void hook_note_end(struct capture_regs caller);

// ---- the fast path

/** Is there nothing left to do but forget the hook? */
static inline bool hook_is_still_fast(struct thread_slot *slot) {
	return switch_is_on() && hook_is_still_plain(slot);
}

HOOK_INLINE uint32_t hook_capture_fast(struct thread_slot *slot,
		const struct capture_regs *caller) {
	struct capture *capture = thread_state_of(slot)->captures[0];
	struct capture_result result = {.is_truncated = true};
	if (likely(capture != NULL)) {
		result = capture_stack(capture, caller, 0);
	}
	return unlikely(result.is_truncated) ? hook_capture_more(slot, caller, result.node)
										 : result.node;
}

/** Begin a malloc and find the caller's node. NULL: nothing was done, use hook_enter(). */
HOOK_INLINE struct thread_slot *hook_begin_allocation(struct hook *h,
		const struct capture_regs *caller, uint32_t *node) {
	struct thread_slot *slot = hook_begin_plain(&thread_self, h, caller->sp);
	if (unlikely(slot == NULL)) {
		return NULL;
	}
	*node = hook_capture_fast(slot, caller);
	return slot;
}

/** The real malloc returned `block` (NULL: it failed). `slot` and `node` are from the beginning. */
HOOK_INLINE void hook_end_allocation(struct hook *h, struct thread_slot *slot, const void *block,
		uint64_t size, uint32_t node) {
	struct thread_state *s = thread_state_of(slot);
	if (unlikely(!hook_is_still_fast(slot) || block == NULL ||
				hook_is_odd(s, hook_address(block), size))) {
		hook_end_allocation_slowly(h, slot, block, size, node);
		return;
	}
	bool is_due = hook_put(s, KIND_ALLOC, hook_address(block), size, node);
	hook_forget(s, 0);
	if (unlikely(is_due)) {
		hook_tell_collector();
	}
}

/** Record that `block` is about to be released. NULL: nothing was done, use hook_enter(). */
HOOK_INLINE struct thread_slot *hook_begin_free(struct hook *h, const struct capture_regs *caller,
		const void *block) {
	if (unlikely(hook_wants_free_stacks() || module_is_loader(caller->pc))) {
		return NULL;
	}
	struct thread_slot *slot = hook_begin_plain(&thread_self, h, caller->sp);
	if (likely(slot != NULL)) {
		hook_write(slot, KIND_FREE, hook_address(block), 0, 0);
	}
	return slot;
}

HOOK_INLINE void hook_end_free(struct hook *h, struct thread_slot *slot) {
	if (unlikely(!hook_is_still_fast(slot))) {
		hook_end_free_slowly(h, slot);
		return;
	}
	hook_forget(thread_state_of(slot), 0);
}
