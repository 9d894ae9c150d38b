// SPDX-License-Identifier: MIT

/*
 * What nearly all calls are: malloc and free of a thread that is known, outside of any other hook, in a
 * recording that goes on. The rest goes the long way, inject.c's, which may be taken on the way back, too,
 * since all that it needs is in the frame.
 *
 * No function here calls another but at its very end, or to find the stack: so registers need not be
 * saved twice.
 */

#include "recorder/inject/inject.h"

/** The slot of a thread whose outermost hook may begin, if the recording goes on. NULL: look closer. */
static inline struct thread_slot *usual_slot(const struct thread_words *self) {
	bool is_open = door_is_open() && self != NULL && self->slot != NULL;
	return __builtin_expect(is_open, 1) ? self->slot : NULL;
}

/** Begin the hook of a call. The thread's state; NULL: nothing was done. */
static inline __attribute__((always_inline)) struct thread_state *begin(struct inject_frame *f,
		enum inject_kind kind) {
	struct thread_words *self = inject_known_thread();
	struct thread_slot *slot = usual_slot(self);
	if (__builtin_expect(slot == NULL, 0)) {
		return NULL;
	}
	struct thread_state *s = thread_state_of(slot);
	uint64_t n_reserved = ring_reserved(&s->ring);
	if (__builtin_expect(!hook_is_plain(s, n_reserved), 0)) {
		return NULL;
	}
	machine_local_bump(&self->inside, 1);
	f->self = self;
	f->kind = (uint32_t)kind;
	hook_begin_plain(&f->hook, slot, (uint64_t)(f + 1), n_reserved);
	hook_keep_plain(&f->hook, slot, 0);
	return s;
}

static inline struct capture_regs caller_of(const struct inject_frame *f) {
	return (struct capture_regs){.pc = f->pc, .sp = (uint64_t)(f + 1), .bp = f->bp};
}

void inject_enter_allocation(uint64_t size, struct inject_frame *f) {
	f->size = size;
	const struct thread_state *s = begin(f, INJECT_ALLOCATES);
	if (__builtin_expect(s == NULL, 0)) {
		inject_enter(f);
		return;
	}
	const struct capture_regs caller = caller_of(f);
	f->hook.node = hook_capture_usual(f->hook.slot, &caller);
}

/** The long way back. */
static __attribute__((noinline, cold)) uint64_t leave_allocation(uint64_t block,
		struct inject_frame *f) {
	f->rax = block;
	(void)inject_leave(f);
	return block;
}

/** What is left to do when all has been done, and the thread is inside yet. */
static __attribute__((noinline, cold)) uint64_t tell_collector(uint64_t block,
		struct inject_frame *f) {
	hook_tell_collector();
	machine_local_bump(&f->self->inside, UINT64_MAX);
	return block;
}

uint64_t inject_leave_allocation(uint64_t block, struct inject_frame *f) {
	struct hook *h = &f->hook;
	bool is_usual = f->self != NULL && f->kind == INJECT_ALLOCATES && door_is_open() &&
			h->level == 0 && hook_is_still_plain(h->slot) && !inject_is_late(f) && block != 0;
	if (__builtin_expect(!is_usual, 0)) {
		return leave_allocation(block, f);
	}
	struct thread_state *s = thread_state_of(h->slot);
	uint64_t ptr = machine_untag(block);
	if (__builtin_expect(hook_is_odd(s, ptr, f->size), 0)) {
		return leave_allocation(block, f);
	}
	bool is_due = hook_put(s, KIND_ALLOC, ptr, f->size, h->node);
	hook_end_plain(h->slot);
	f->self->last_block = block;
	if (__builtin_expect(is_due, 0)) {
		return tell_collector(block, f);
	}
	machine_local_bump(&f->self->inside, UINT64_MAX);
	return block;
}

void inject_enter_free(uint64_t block, struct inject_frame *f) {
	bool is_usual = block != 0 && !hook_wants_free_stacks() && !capture_is_loader(f->pc) &&
			!inject_is_thread_cache(f->pc);
	struct thread_state *s = NULL;
	if (__builtin_expect(!is_usual || (s = begin(f, INJECT_FREES)) == NULL, 0)) {
		inject_enter(f);
		return;
	}
	if (f->self->last_block == block) {
		f->self->last_block = 0;
	}
	uint64_t ptr = machine_untag(block);
	if (__builtin_expect(hook_is_odd(s, ptr, 0), 0)) {
		hook_write_odd(s, KIND_FREE, ptr, 0, 0);
	} else if (__builtin_expect(hook_put(s, KIND_FREE, ptr, 0, 0), 0)) {
		hook_tell_collector();
	}
}

/** The long way back. */
static __attribute__((noinline, cold)) void leave_free(struct inject_frame *f) {
	(void)inject_leave(f);
}

void inject_leave_free(struct inject_frame *f) {
	bool is_usual = f->self != NULL && f->kind == INJECT_FREES && door_is_still_ours() &&
			f->hook.level == 0 && hook_is_still_plain(f->hook.slot);
	if (__builtin_expect(!is_usual, 0)) {
		leave_free(f);
		return;
	}
	hook_end_plain(f->hook.slot);
	machine_local_bump(&f->self->inside, UINT64_MAX);
}
