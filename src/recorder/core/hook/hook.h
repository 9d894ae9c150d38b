// SPDX-License-Identifier: MIT
#pragma once

/**
 * A hook in progress: what every replaced function does around the real one. Any thread, any
 * signal handler; errno is left alone; nothing waits but hook_enter, for a bounded time.
 *
 *      struct hook h;
 *      if (!hook_enter(&h, MACHINE_CALLER(), true)) {
 *          return real_malloc(size);            // not recorded
 *      }
 *      void *block = real_malloc(size);
 *      hook_allocated(&h, block, size);
 *      hook_leave(&h);
 *
 * hook_enter makes room for all that the hook may write (one hook_free, or hook_realloc and its
 * answer, or hook_allocated), so that nothing waits between the real call and its event.
 */

#include "recorder/core/switch.h"
#include "recorder/core/thread.h"

// A file whose hooks are rarely called defines it otherwise, to be small
#ifndef HOOK_INLINE
#define HOOK_INLINE static inline __attribute__((always_inline))
#endif

/** Lives on the stack of the replaced function while the real one runs. */
struct hook {
	uint64_t mark; // hook_mark() of it: one that a jump has left is known by this written over
	uint64_t sp;   // the caller's
	struct thread_slot *slot;
	uint32_t level;
	uint32_t node;
};

/** Entries that a hook may need, and those kept free for handlers that interrupt it. */
enum { HOOK_ENTRIES = 2 * RING_EVENT_ENTRIES, HOOK_ENTRIES_FOR_HANDLERS = 64 };

/** hook_enter for all that is not a plain outermost hook of a known thread with room. */
bool hook_enter_slowly(struct hook *h, const struct capture_regs *caller, bool wants_stack);

/** An outermost hook found that a hook above it was left by a jump. */
void hook_clean_up(struct thread_slot *slot, unsigned level);

/** hook_write where a label may be due, or pointer, size or stamp do not fit an entry. */
void hook_write_odd(struct thread_state *s, enum wire_kind kind, uint64_t ptr, uint64_t size,
		uint32_t node);

/** hook_put whose entry at `index` does not do: its epoch or stamp needs more, or a handler came between. */
bool hook_put_again(struct thread_state *s, uint64_t index, const struct ring_event *event);

/** The next stamp (wire/segment.h), for an entry that is reserved. */
static inline uint64_t hook_take_stamp(void) {
	struct segment_header *h = segment.header;
	return __builtin_expect(atomic_load_explicit(&h->stamps, memory_order_relaxed) == STAMPS_CLOCK,
				   1)
			? machine_stamp()
			: atomic_fetch_add(&h->stamp, 1);
}

static inline bool hook_wants_free_stacks(void) {
	return (segment.options & SEGMENT_FREE_STACKS) != 0;
}

static inline uint64_t hook_mark(const struct hook *h) {
	return (uint64_t)h ^ 0x9E3779B97F4A7C15ull;
}

/** Note a hook in progress. All is in place before the one store that makes it known. */
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

/** A stack is not whole: counts it. True: there is a larger capture to try now. */
bool hook_capture_again(struct thread_slot *slot, unsigned level);

/** The stack of a caller, its losses counted. */
static inline struct capture_result hook_capture(struct thread_slot *slot, unsigned level,
		const struct capture_regs *caller, uint64_t stop_sp) {
	struct thread_state *s = thread_state_of(slot);
	struct capture_result result;
	do {
		struct capture *capture = s->captures[level];
		if (__builtin_expect(capture == NULL, 0)) {
			capture = thread_capture(slot, level);
		}
		result = capture_stack(capture, caller, stop_sp);
	} while (__builtin_expect(result.is_truncated, 0) && hook_capture_again(slot, level));
	return result;
}

/** Is a hook that begins now the thread's only one, and is there room for it? */
static inline bool hook_is_plain(struct thread_state *s, uint64_t n_reserved) {
	return hook_at(s, 0) == NULL &&
			n_reserved + HOOK_ENTRIES + HOOK_ENTRIES_FOR_HANDLERS <= s->ring.limit;
}

/** Begin one that is plain. */
static inline void hook_begin_plain(struct hook *h, struct thread_slot *slot, uint64_t sp,
		uint64_t n_reserved) {
	hook_begin(&thread_state_of(slot)->hooks[0], h, sp, n_reserved);
}

/** What the hook of a call needs to know when the call has returned. */
static inline void hook_keep_plain(struct hook *h, struct thread_slot *slot, uint32_t node) {
	h->slot = slot;
	h->level = 0;
	h->node = node;
}

/** Is a plain one the thread's only one still? */
static inline bool hook_is_still_plain(struct thread_slot *slot) {
	return hook_at(thread_state_of(slot), 1) == NULL;
}

static inline void hook_end_plain(struct thread_slot *slot) {
	hook_forget(thread_state_of(slot), 0);
}

/**
 * Begin a hook. False: it is not to be recorded, or cannot be (counted); call the real function
 * and nothing of this header.
 */
HOOK_INLINE bool hook_enter_as(const struct thread_words *self, struct hook *h,
		struct capture_regs caller, bool wants_stack) {
	uint32_t word = atomic_load_explicit(&door_page.word, memory_order_relaxed);
	if (__builtin_expect(word == DOOR_CLOSED, 0)) {
		return false;
	}
	struct thread_slot *slot = self->slot;
	if (__builtin_expect(word != DOOR_OPEN || slot == NULL, 0)) {
		return hook_enter_slowly(h, &caller, wants_stack);
	}
	struct thread_state *s = thread_state_of(slot);
	uint64_t n_reserved = ring_reserved(&s->ring);
	if (__builtin_expect(!hook_is_plain(s, n_reserved), 0)) {
		return hook_enter_slowly(h, &caller, wants_stack);
	}
	hook_begin_plain(h, slot, caller.sp, n_reserved);
	hook_keep_plain(h, slot, wants_stack ? hook_capture(slot, 0, &caller, 0).node : 0);
	return true;
}

HOOK_INLINE bool hook_enter(struct hook *h, struct capture_regs caller, bool wants_stack) {
	return hook_enter_as(&thread_self, h, caller, wants_stack);
}

/** End a hook. */
static inline void hook_leave(struct hook *h) {
	if (__builtin_expect(!door_is_still_ours(), 0)) {
		return; // we are a forked child by now: the slot is our parent's
	}
	struct thread_slot *slot = h->slot;
	struct thread_state *s = thread_state_of(slot);
	if (__builtin_expect(h->level + 1 < THREAD_LEVELS && hook_at(s, h->level + 1) != NULL, 0)) {
		hook_clean_up(slot, h->level + 1);
	}
	hook_forget(s, h->level);
}

/** Does an event need more than its own entry: may a label be due, or do pointer or size not fit? */
static inline bool hook_is_odd(const struct thread_state *s, uint64_t ptr, uint64_t size) {
	uint64_t tick_ns = atomic_load_explicit(&segment.common->tick_ns, memory_order_relaxed);
	return tick_ns != s->tick_ns || wire_is_wide(ptr, size);
}

/**
 * Reserve, read the epoch, stamp, write, publish what is not odd. True: hook_tell_collector() is due.
 *
 * If the epoch is that of before the entry was reserved, no handler has put a younger one behind it. And
 * what a handler puts behind it, before it has a stamp, has an older one: then it does not do.
 *
 * Pairs with order_complete_epochs() and take_horizon(): who has read the old epoch or clock had reserved
 * before, in the order of the program. No fence makes the collector see that at once, since it would cost
 * each event as much as a stamp: it waits as long as stores and loads may take (ORDER_SLACK). The counted
 * stamp needs no time: the add is sequentially consistent, so whoever sees it sees what was reserved.
 */
static inline bool hook_put(struct thread_state *s, enum wire_kind kind, uint64_t ptr,
		uint64_t size, uint32_t node) {
	uint64_t before = s->epoch;
	uint64_t index = ring_reserve(&s->ring, 1);
	ring_prefetch(&s->ring, index);
	struct ring_event event = {.kind = kind, .node = node, .ptr = ptr, .size = size};
	uint64_t epoch = atomic_load_explicit(&segment.header->epoch, memory_order_relaxed);
	if (__builtin_expect(epoch != before, 0)) {
		return hook_put_again(s, index, &event);
	}
	if (wire_epoch_owner(epoch) == 0) {
		event.stamp = hook_take_stamp();
		if (__builtin_expect(event.stamp - s->stamp >= WIRE_STAMP_REACH ||
							ring_reserved(&s->ring) != index + 1,
					0)) {
			return hook_put_again(s, index, &event);
		}
	}
	ring_publish_event(&s->ring, index, &event);
	return ring_crossed_quarter(&s->ring, index, 1);
}

/** Wake the collector if it sleeps; see whether it is there. */
void hook_tell_collector(void);

/** An event, into the ring. */
static inline void hook_write(struct thread_slot *slot, enum wire_kind kind, uint64_t ptr,
		uint64_t size, uint32_t node) {
	struct thread_state *s = thread_state_of(slot);
	if (__builtin_expect(hook_is_odd(s, ptr, size), 0)) {
		hook_write_odd(s, kind, ptr, size, node);
	} else if (__builtin_expect(hook_put(s, kind, ptr, size, node), 0)) {
		hook_tell_collector();
	}
}

/**
 * From now on, or no longer, the real function may be left by an exception, which says that there is
 * no memory.
 */
static inline void hook_set_may_throw(const struct hook *h, bool may_throw) {
	atomic_store_explicit(&thread_state_of(h->slot)->hooks[h->level].may_throw, may_throw,
			memory_order_relaxed);
}

/** What tables and events know a block by. */
static inline uint64_t hook_address(const void *block) {
	return machine_untag((uint64_t)block);
}

/** The real function gave out `block` (NULL: it failed) for `size` bytes. */
static inline void hook_allocated(struct hook *h, const void *block, uint64_t size) {
	if (__builtin_expect(!door_is_open(), 0)) {
		return;
	}
	if (__builtin_expect(block == NULL, 0)) {
		thread_count(&h->slot->failed, 1);
		return;
	}
	hook_write(h->slot, KIND_ALLOC, hook_address(block), size, h->node);
}

/** The node that goes with the end of a block. */
static inline uint32_t hook_free_node(const struct hook *h) {
	return hook_wants_free_stacks() ? h->node : 0;
}

/** `block` is about to be released. Before the real call. */
static inline void hook_free(struct hook *h, const void *block) {
	hook_write(h->slot, KIND_FREE, hook_address(block), 0, hook_free_node(h));
}

/** The time now, by which what this thread does next is labelled, and nothing that it did before. */
uint64_t hook_label_now(const struct hook *h);

/** `block` is about to be resized to `size` > 0 bytes. Before the real call. */
void hook_realloc(struct hook *h, const void *block);

/** The answer to hook_realloc: the block of `size` bytes is `moved` now (NULL: it failed). */
void hook_realloc_answer(struct hook *h, const void *block, const void *moved, uint64_t size);

/** There is no answer within the recording: `block` is what it was to its end. */
void hook_realloc_unanswered(struct hook *h, const void *block);

// ---- the usual hook

/*
 * What nearly all calls are: the outermost hook of a thread that is known, with room in its ring, in a
 * recording that goes on. Its slot stays in a register. Whoever finds that it is something else, even
 * on the way back, goes on with a hook as above.
 */

/** Begin one. NULL: nothing was done. */
HOOK_INLINE struct thread_slot *hook_begin_usual(struct hook *h, uint64_t sp) {
	struct thread_slot *slot = thread_self.slot;
	if (__builtin_expect(!door_is_open() || slot == NULL, 0)) {
		return NULL;
	}
	struct thread_state *s = thread_state_of(slot);
	uint64_t n_reserved = ring_reserved(&s->ring);
	if (__builtin_expect(!hook_is_plain(s, n_reserved), 0)) {
		return NULL;
	}
	hook_begin_plain(h, slot, sp, n_reserved);
	return slot;
}

/** Is there nothing to do at its end but to end it? */
static inline bool hook_is_still_usual(struct thread_slot *slot) {
	return door_is_open() && hook_is_still_plain(slot);
}

/** hook_capture where there is no memory for the stack yet, or not enough: then `node` is what there is. */
uint32_t hook_capture_more(struct thread_slot *slot, const struct capture_regs *caller,
		uint32_t node);

/** The ends of usual hooks that do not end as such. */
void hook_end_allocation_slowly(struct hook *h, struct thread_slot *slot, const void *block,
		uint64_t size, uint32_t node);
void hook_end_free_slowly(struct hook *h, struct thread_slot *slot);

/** The node of a usual hook's stack. */
HOOK_INLINE uint32_t hook_capture_usual(struct thread_slot *slot,
		const struct capture_regs *caller) {
	struct capture *capture = thread_state_of(slot)->captures[0];
	struct capture_result result = {.is_truncated = true};
	if (__builtin_expect(capture != NULL, 1)) {
		result = capture_stack(capture, caller, 0);
	}
	return __builtin_expect(result.is_truncated, 0) ? hook_capture_more(slot, caller, result.node)
													: result.node;
}

/** An allocation is about to begin. */
HOOK_INLINE struct thread_slot *hook_begin_allocation(struct hook *h,
		const struct capture_regs *caller, uint32_t *node) {
	struct thread_slot *slot = hook_begin_usual(h, caller->sp);
	if (__builtin_expect(slot == NULL, 0)) {
		return NULL;
	}
	*node = hook_capture_usual(slot, caller);
	return slot;
}

/** It gave out `block`, or failed. */
HOOK_INLINE void hook_end_allocation(struct hook *h, struct thread_slot *slot, const void *block,
		uint64_t size, uint32_t node) {
	struct thread_state *s = thread_state_of(slot);
	if (__builtin_expect(!hook_is_still_usual(slot) || block == NULL ||
						hook_is_odd(s, hook_address(block), size),
				0)) {
		hook_end_allocation_slowly(h, slot, block, size, node);
		return;
	}
	bool is_due = hook_put(s, KIND_ALLOC, hook_address(block), size, node);
	hook_end_plain(slot);
	if (__builtin_expect(is_due, 0)) {
		hook_tell_collector();
	}
}

/** `block` is about to be released, and no stack is wanted. */
HOOK_INLINE struct thread_slot *hook_begin_free(struct hook *h, const struct capture_regs *caller,
		const void *block) {
	if (__builtin_expect(hook_wants_free_stacks() || capture_is_loader(caller->pc), 0)) {
		return NULL;
	}
	struct thread_slot *slot = hook_begin_usual(h, caller->sp);
	if (__builtin_expect(slot == NULL, 0)) {
		return NULL;
	}
	struct thread_state *s = thread_state_of(slot);
	uint64_t ptr = hook_address(block);
	if (__builtin_expect(hook_is_odd(s, ptr, 0), 0)) {
		hook_write_odd(s, KIND_FREE, ptr, 0, 0);
	} else if (__builtin_expect(hook_put(s, KIND_FREE, ptr, 0, 0), 0)) {
		hook_tell_collector();
	}
	return slot;
}

/** It has been. */
HOOK_INLINE void hook_end_free(struct hook *h, struct thread_slot *slot) {
	if (__builtin_expect(!hook_is_still_usual(slot), 0)) {
		hook_end_free_slowly(h, slot);
		return;
	}
	hook_end_plain(slot);
}
