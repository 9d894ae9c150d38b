// SPDX-License-Identifier: MIT

/*
 * The slow way into a hook, and the ends of those that leave the fast path.
 *
 * It is taken by a thread's first hook, a hook inside another one, and a hook without room.
 */

#include "recorder/core/hook/hook.h"

bool hook_capture_again(struct thread_slot *slot, unsigned level) {
	if (level == 0 && thread_grow(slot)) {
		return true;
	}
	thread_count(&slot->truncated, 1);
	return false;
}

/** `is_inside`: NULL, or it also begins inside of a real function, and says whether it does. */
static bool enter(struct hook *h, const struct capture_regs *caller, bool wants_stack,
		bool *is_inside) {
	if (!switch_is_on_or_paused() && !switch_find_out()) {
		return false;
	}
	struct thread_slot *slot = thread_self.slot;
	if (slot == NULL && (slot = thread_claim()) == NULL) {
		return false;
	}
	struct thread_state *s = thread_state_of(slot);
	unsigned level = hook_count(slot, caller->sp);
	if (level == THREAD_LEVELS) {
		thread_count(&slot->lost, 1);
		return false;
	}
	hook_begin(&s->hooks[level], h, caller->sp, ring_reserved(&s->ring));
	h->slot = slot;
	h->level = level;
	h->node = 0;
	if (level > 0 && (is_inside == NULL || wants_stack)) {
		// A signal handler's call, or one from inside the real allocator: its stack shows which
		struct capture_result result = hook_capture(slot, level, caller, hook_at(s, level - 1)->sp);
		if (is_inside != NULL) {
			*is_inside = !result.crossed_signal;
		} else if (!result.crossed_signal) {
			hook_forget(s, level);
			return false;
		}
		h->node = wants_stack ? result.node : 0;
	} else if (wants_stack) {
		h->node = hook_capture(slot, 0, caller, 0).node;
	}
	// With room for the hooks that this one has interrupted: they may have written nothing yet
	uint32_t n = HOOK_ENTRIES * (level + 1) + (level == 0 ? HOOK_ENTRIES_FOR_HANDLERS : 0);
	if (!room_make(slot, level, n)) {
		thread_count(&slot->lost, 1);
		hook_forget(s, level);
		return false;
	}
	return true;
}

bool hook_enter_slowly(struct hook *h, const struct capture_regs *caller, bool wants_stack) {
	return enter(h, caller, wants_stack, NULL);
}

bool hook_enter_anywhere(struct hook *h, const struct capture_regs *caller, bool wants_stack,
		bool *is_inside) {
	return enter(h, caller, wants_stack, is_inside);
}

// ---- hooks that leave the fast path

COLD uint32_t hook_capture_more(struct thread_slot *slot, const struct capture_regs *caller,
		uint32_t node) {
	if (thread_state_of(slot)->captures[0] == NULL || hook_capture_again(slot, 0)) {
		return hook_capture(slot, 0, caller, 0).node;
	}
	return node;
}

COLD void hook_end_allocation_slowly(struct hook *h, struct thread_slot *slot, const void *block,
		uint64_t size, uint32_t node) {
	hook_keep_plain(h, slot, node);
	hook_allocated(h, block, size);
	hook_leave(h);
}

COLD void hook_end_free_slowly(struct hook *h, struct thread_slot *slot) {
	hook_keep_plain(h, slot, 0);
	hook_leave(h);
}
