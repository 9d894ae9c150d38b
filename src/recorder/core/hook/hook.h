// SPDX-License-Identifier: MIT
#pragma once
/**
 * What every replaced function does around the real one, which is called a hook.
 *
 *      struct hook h;
 *      if (!hook_enter(&h, MACHINE_CALLER(), true)) {
 *          return real_malloc(size);            // not recorded
 *      }
 *      void *block = real_malloc(size);
 *      hook_allocated(&h, block, size);
 *      hook_leave(&h);
 *
 * Any thread, any signal handler; errno is unchanged. Only hook_enter may wait, for a bounded time:
 * it makes room for everything that the hook may write (one hook_free, or hook_realloc and its
 * answer, or hook_allocated), so nothing waits between the real call and its event.
 *
 * Hooks can be in progress inside each other: in the real function a signal handler may allocate,
 * or the real function itself. hook_enter tells these apart (docs/wire.md, "Hooks within hooks").
 *
 * Nearly all calls are malloc and free by the outermost hook of a known thread, with room in its
 * ring, while everything is recorded. They have a shorter form, the *fast path*, at the end of this
 * header. A call that turns out to be different, even after the real function, continues by the way
 * above.
 */

#include "recorder/core/attr.h"
#include "recorder/core/hook/progress.h"
#include "recorder/core/switch.h"
#include "recorder/core/thread.h"

// A file whose hooks are rarely called defines it differently, to be small
#ifndef HOOK_INLINE
#define HOOK_INLINE INLINE
#endif

/**
 * Begin a hook. False: the call is not to be recorded, or cannot be (which is counted). Then call
 * the real function and nothing else of this header. `self`: the calling thread's, thread_self.
 */
HOOK_INLINE bool hook_enter(struct hook *h, struct capture_regs caller, bool wants_stack);
HOOK_INLINE bool hook_enter_as(const struct thread_words *self, struct hook *h,
		struct capture_regs caller, bool wants_stack);

/** End a hook. */
static inline void hook_leave(struct hook *h);

/** The real function returned `block` of `size` bytes (NULL: it failed). */
static inline void hook_allocated(struct hook *h, const void *block, uint64_t size);

/** The real function is about to release `block`. */
static inline void hook_free(struct hook *h, const void *block);

/** Does the recording want the stacks of frees as well? */
static inline bool hook_wants_free_stacks(void);

/** The real function is about to resize `block` to more than 0 bytes. */
void hook_realloc(struct hook *h, const void *block);

/** It has: `moved` of `size` bytes takes the place of `block` (NULL: it failed). */
void hook_realloc_answer(struct hook *h, const void *block, const void *moved, uint64_t size);

/** The recording ended meanwhile: `block` counts as unchanged. */
void hook_realloc_unanswered(struct hook *h, const void *block);

/** An exception may, or can no longer, leave the real function: it then has found no memory. */
static inline void hook_set_may_throw(const struct hook *h, bool may_throw);

/** The time now, as a label for what this thread records next. */
uint64_t hook_label_now(const struct hook *h);

// ---- the fast path

/** Begin a malloc and find the caller's node. NULL: nothing was done, use hook_enter(). */
HOOK_INLINE struct thread_slot *hook_begin_allocation(struct hook *h,
		const struct capture_regs *caller, uint32_t *node);

/** The real malloc returned `block` (NULL: it failed). `slot` and `node` as from the beginning. */
HOOK_INLINE void hook_end_allocation(struct hook *h, struct thread_slot *slot, const void *block,
		uint64_t size, uint32_t node);

/** Record that `block` is about to be released. NULL: nothing was done, use hook_enter(). */
HOOK_INLINE struct thread_slot *hook_begin_free(struct hook *h, const struct capture_regs *caller,
		const void *block);

/** The real free has returned. */
HOOK_INLINE void hook_end_free(struct hook *h, struct thread_slot *slot);

#include "recorder/core/hook/fast.h"
