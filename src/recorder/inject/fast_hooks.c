// SPDX-License-Identifier: MIT
/*
 * The fast path of malloc and free, as in core/hook/hook.h. All other calls continue in inject.c,
 * even after the real function: the frame has all that is needed. Functions here call others only
 * at their very end, or to find the stack, so registers need not be saved twice.
 */
#include "recorder/inject/inject.h"

/** A thread's slot, if everything is recorded. NULL: more to find out. */
static inline struct thread_slot *open_slot(const struct thread_words *self) {
	bool is_open = switch_is_on() && self != NULL && self->slot != NULL;
	return likely(is_open) ? self->slot : NULL;
}

/** Begin a plain hook. Returns the thread's state; NULL: nothing was done. */
INLINE struct thread_state *begin(struct inject_frame *f, enum inject_kind kind) {
	struct thread_words *self = inject_known_thread();
	struct thread_slot *slot = open_slot(self);
	if (unlikely(slot == NULL)) {
		return NULL;
	}
	struct thread_state *s = thread_state_of(slot);
	uint64_t n_reserved = ring_reserved(&s->ring);
	if (unlikely(!hook_is_plain(s, n_reserved))) {
		return NULL;
	}
	machine_local_bump(&self->inside, 1);
	f->self = self;
	f->kind = (uint32_t)kind;
	hook_begin(&s->hooks[0], &f->hook, (uint64_t)(f + 1), n_reserved);
	hook_keep_plain(&f->hook, slot, 0);
	return s;
}

static inline struct capture_regs caller_of(const struct inject_frame *f) {
	return (struct capture_regs){.pc = f->pc, .sp = (uint64_t)(f + 1), .bp = f->bp};
}

void inject_enter_allocation(uint64_t size, struct inject_frame *f) {
	f->size = size;
	const struct thread_state *s = begin(f, INJECT_ALLOCATES);
	if (unlikely(s == NULL)) {
		inject_enter(f);
		return;
	}
	const struct capture_regs caller = caller_of(f);
	f->hook.node = hook_capture_fast(f->hook.slot, &caller);
}

static COLD uint64_t leave_allocation(uint64_t block, struct inject_frame *f) {
	f->rax = block;
	(void)inject_leave(f);
	return block;
}

/** The end of a call that wakes the collector: the thread is still inside. */
static COLD uint64_t tell_collector(uint64_t block, struct inject_frame *f) {
	hook_tell_collector();
	machine_local_bump(&f->self->inside, UINT64_MAX);
	return block;
}

uint64_t inject_leave_allocation(uint64_t block, struct inject_frame *f) {
	struct hook *h = &f->hook;
	bool is_fast = f->self != NULL && f->kind == INJECT_ALLOCATES && switch_is_on() &&
			h->level == 0 && hook_is_still_plain(h->slot) && !inject_is_late(f) && block != 0;
	if (unlikely(!is_fast)) {
		return leave_allocation(block, f);
	}
	struct thread_state *s = thread_state_of(h->slot);
	uint64_t ptr = machine_untag(block);
	if (unlikely(hook_is_odd(s, ptr, f->size))) {
		return leave_allocation(block, f);
	}
	bool is_due = hook_put(s, KIND_ALLOC, ptr, f->size, h->node);
	hook_forget(s, 0);
	f->self->last_block = block;
	if (unlikely(is_due)) {
		return tell_collector(block, f);
	}
	machine_local_bump(&f->self->inside, UINT64_MAX);
	return block;
}

void inject_enter_free(uint64_t block, struct inject_frame *f) {
	bool is_fast = block != 0 && !hook_wants_free_stacks() && !module_is_loader(f->pc) &&
			!inject_is_thread_cache(f->pc);
	struct thread_state *s = NULL;
	if (unlikely(!is_fast || (s = begin(f, INJECT_FREES)) == NULL)) {
		inject_enter(f);
		return;
	}
	if (f->self->last_block == block) {
		f->self->last_block = 0;
	}
	uint64_t ptr = machine_untag(block);
	hook_write(f->hook.slot, KIND_FREE, ptr, 0, 0);
}

static COLD void leave_free(struct inject_frame *f) {
	(void)inject_leave(f);
}

void inject_leave_free(struct inject_frame *f) {
	bool is_fast = f->self != NULL && f->kind == INJECT_FREES && switch_is_still_on_or_paused() &&
			f->hook.level == 0 && hook_is_still_plain(f->hook.slot);
	if (unlikely(!is_fast)) {
		leave_free(f);
		return;
	}
	hook_forget(thread_state_of(f->hook.slot), 0);
	machine_local_bump(&f->self->inside, UINT64_MAX);
}
