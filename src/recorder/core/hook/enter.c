// SPDX-License-Identifier: MIT
/*
 * The slow way into a hook, and the ends of those that leave the fast path: for a thread's first
 * hook, a hook inside another one, and a hook without room. With a full ring, a thread waits for
 * the collector as long as that lives, 50 ms at a time; docs/wire.md ("Waiting") says when
 * recording ends instead.
 */
#include "recorder/core/hook/hook.h"

// ---- room in the ring

/** What a wait for the collector has seen so far. */
struct patience {
	uint32_t heartbeat;      // last seen
	uint64_t taken;          // last seen
	uint64_t before_ns;      // when we last looked
	uint64_t no_beat_ns;     // waited without a heartbeat
	uint64_t no_progress_ns; // waited without a taken entry
};

/** Account for another step of the wait. False: the collector no longer answers. */
static bool stays_patient(struct patience *p, const struct ring *r) {
	const uint64_t step_max_ns = 100000000; // in a longer step this process itself was stopped
	const uint64_t no_beat_max_ns = 5000000000;
	const uint64_t no_progress_max_ns = 30000000000;

	uint64_t now_ns = host_clock_ns();
	uint64_t step_ns = now_ns - p->before_ns;
	step_ns = step_ns > step_max_ns ? step_max_ns : step_ns;
	p->before_ns = now_ns;

	uint32_t heartbeat = atomic_load(&segment.common->heartbeat);
	p->no_beat_ns = heartbeat != p->heartbeat ? 0 : p->no_beat_ns + step_ns;
	p->heartbeat = heartbeat;

	uint64_t taken = atomic_load(&r->shared->taken);
	p->no_progress_ns = taken != p->taken ? 0 : p->no_progress_ns + step_ns;
	p->taken = taken;
	return p->no_beat_ns < no_beat_max_ns && p->no_progress_ns < no_progress_max_ns;
}

/** Wait until `n` entries fit. False: recording has ended. */
static bool wait_for_room(struct ring *r, uint32_t n) {
	struct patience patience = {.before_ns = host_clock_ns(),
			.heartbeat = atomic_load(&segment.common->heartbeat)};
	const struct timespec at_most = {.tv_nsec = 50000000};
	struct wire_ring *shared = r->shared;
	while (switch_is_on_or_paused()) {
		uint32_t room = atomic_load(&shared->room);
		// Pairs with order_tell_taken(), which stores `taken`, then looks at `owner_waits`
		atomic_store(&shared->owner_waits, 1);
		if (ring_look_for_room(r, n)) {
			break;
		}
		segment_ring_bell();
		(void)syscall_4(__NR_futex, (long)&shared->room, FUTEX_WAIT, (long)room, (long)&at_most);
		switch_look_at_collector();
		if (!stays_patient(&patience, r)) {
			switch_turn_off(true);
		}
	}
	atomic_store(&shared->owner_waits, 0);
	return switch_is_on_or_paused();
}

/** The same without system calls: a few milliseconds at most. */
static bool spin_for_room(struct ring *r, uint32_t n) {
	enum { N_SPINS = 200000 };
	for (unsigned i = 0; i < N_SPINS; i++) {
		if (ring_look_for_room(r, n)) {
			return true;
		}
		machine_relax();
	}
	return false;
}

/**
 * Make room for `n` entries; a thread moves to the big ring once its small one is full. `level`:
 * hooks in progress outside this one. False: no room.
 */
static bool make_room(struct thread_slot *slot, unsigned level, uint32_t n) {
	struct ring *r = &thread_state_of(slot)->ring;
	if (ring_has_room(r, n)) {
		return true;
	}
	// Hooks in progress know their entries by index: the ring changes only without any
	if (level == 0 && atomic_load_explicit(&slot->ring, memory_order_relaxed) == RING_SMALL) {
		if (thread_state_of(slot)->open_bytes == 0) {
			(void)thread_grow(slot);
		}
		ring_open(r, slot, RING_BIG);
		thread_state_of(slot)->hooks[0].reserved = 0;
		atomic_store_explicit(&slot->ring, RING_BIG, memory_order_release);
		return true;
	}
	if (ring_look_for_room(r, n)) {
		return true;
	}
	if (level > 0 && ring_is_blocked_by_owner(r, n)) {
		return false;
	}
	return segment_may_call_system() ? wait_for_room(r, n) : spin_for_room(r, n);
}

// ---- entering

bool hook_capture_again(struct thread_slot *slot, unsigned level) {
	if (level == 0 && thread_grow(slot)) {
		return true;
	}
	thread_count(&slot->truncated, 1);
	return false;
}

bool hook_enter_slowly(struct hook *h, const struct capture_regs *caller, bool wants_stack,
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
	// Include the hooks that this one interrupted: they may have written nothing yet
	uint32_t n = HOOK_ENTRIES * (level + 1) + (level == 0 ? HOOK_ENTRIES_FOR_HANDLERS : 0);
	if (!make_room(slot, level, n)) {
		thread_count(&slot->lost, 1);
		hook_forget(s, level);
		return false;
	}
	return true;
}

// ---- what a tree of processes is told

/** A child that borrows our memory (vfork) copies itself, or ends, alone. */
static bool enter_in_tree(struct hook *h, const struct capture_regs *caller) {
	return switch_is_on_or_paused() && (segment.options & SEGMENT_TREE) != 0 &&
			segment_may_call_system() &&
			syscall_0(__NR_getpid) == (long)segment.header->program_pid &&
			hook_enter(h, *caller, false);
}

COLD uint32_t hook_note_fork(struct capture_regs caller) {
	struct hook h;
	uint32_t number = 0;
	if (!enter_in_tree(&h, &caller)) {
		return 0;
	}
	if (h.level == 0) {
		number = atomic_fetch_add(&segment.header->fork_number, 1) + 1;
		hook_write(h.slot, KIND_FORK, (uint64_t)number << 4, 0, 0);
	}
	hook_leave(&h);
	return number;
}

COLD void hook_note_end(struct capture_regs caller) {
	struct hook h;
	if (enter_in_tree(&h, &caller)) {
		hook_write(h.slot, KIND_FORK, 0, 0, 0);
		hook_leave(&h);
	}
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
