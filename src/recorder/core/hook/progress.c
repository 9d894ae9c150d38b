// SPDX-License-Identifier: MIT
/*
 * A hook is abandoned by siglongjmp out of a handler, by cancellation, or by an exception, of which
 * nobody tells the thread. Its next hook notices: it runs above the abandoned one on the same
 * stack, or the abandoned one's mark is overwritten.
 */
#include "recorder/core/hook/progress.h"

#include "recorder/core/hook/event.h"

#include <signal.h>

/** Does this run on the alternate signal stack? Then `low` and `high` are its bounds. */
static bool is_on_signal_stack(uint64_t *low, uint64_t *high) {
	stack_t stack;
	if (sys_failed(syscall_2(__NR_sigaltstack, 0, (long)&stack)) ||
			(stack.ss_flags & SS_ONSTACK) == 0) {
		return false;
	}
	*low = (uint64_t)stack.ss_sp;
	*high = *low + stack.ss_size;
	return true;
}

/** Has a jump abandoned the hook `h`? `sp`: that of the hook beginning now. */
static bool is_abandoned(const struct hook *h, uint64_t sp) {
	if (!segment_may_call_system()) {
		return false;
	}
	if (sp >= (uint64_t)h) {
		// We are above it on the same stack, so it was jumped over. But a handler on a stack of its
		// own may be above what it interrupted
		uint64_t low = 0;
		uint64_t high = 0;
		return !is_on_signal_stack(&low, &high) || ((uint64_t)h >= low && (uint64_t)h < high);
	}
	return !sys_is_readable((uint64_t)&h->mark) ||
			*(const volatile uint64_t *)&h->mark != hook_mark(h);
}

void hook_clean_up(struct thread_slot *slot, unsigned level) {
	struct thread_state *s = thread_state_of(slot);
	(void)ring_void(&s->ring, s->hooks[level].reserved);
	uint64_t unanswered[THREAD_LEVELS];
	unsigned n_unanswered = 0;
	for (unsigned i = THREAD_LEVELS; i-- > level;) {
		struct thread_hook *t = &s->hooks[i];
		if (hook_at(s, i) == NULL) {
			continue;
		}
		uint64_t block = atomic_exchange_explicit(&t->open_realloc, 0, memory_order_relaxed);
		if (block != 0) {
			unanswered[n_unanswered++] = block;
		}
		if (s->captures[i] != NULL) {
			capture_forget(s->captures[i]); // it may be half changed
		}
		bool has_thrown = atomic_exchange_explicit(&t->may_throw, false, memory_order_relaxed);
		thread_count(has_thrown ? &slot->failed : &slot->abandoned, 1);
		hook_forget(s, i);
	}
	for (unsigned i = 0; i < n_unanswered; i++) {
		if (ring_look_for_room(&s->ring, RING_EVENT_ENTRIES)) {
			hook_write(slot, KIND_STAYED, unanswered[i], 0, 0);
		} else {
			thread_count(&slot->lost, 1);
		}
	}
}

unsigned hook_count(struct thread_slot *slot, uint64_t sp) {
	struct thread_state *s = thread_state_of(slot);
	for (unsigned level = 0; level < THREAD_LEVELS; level++) {
		const struct hook *h = hook_at(s, level);
		if (h == NULL) {
			return level;
		}
		if (is_abandoned(h, sp)) {
			hook_clean_up(slot, level);
			return level;
		}
	}
	return THREAD_LEVELS;
}
