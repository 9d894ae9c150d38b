// SPDX-License-Identifier: MIT

/**
 * The slow ways through a hook: the first of a thread, a hook inside another, a full ring, a hook
 * that was left by a jump, a changed clock.
 */

#include "recorder/core/hook/hook.h"
#include "recorder/core/sys.h"

#include <linux/futex.h>
#include <signal.h>
#include <time.h>

// ---- time

/** Give the label of the entries that follow in `ns`; false: it has not changed. */
static bool take_label(struct thread_state *s, uint64_t *ns) {
	const uint64_t step_ns = 1 << 15; // of labels, while the collector sleeps
	const struct segment_header *h = segment.header;
	// Pairs with segment_tick() and segment_arm(), without order: who sees the doorbell armed may see an
	// older tick yet, and then labels its events with it. A label is no order, and is late by a nap at most
	uint64_t label_ns = atomic_load_explicit(&segment.common->tick_ns, memory_order_relaxed);
	bool is_exact = (segment.options & SEGMENT_EXACT_TIME) != 0;
	bool takes_clock = (label_ns == 0 || is_exact) && door_may_call_system();
	s->tick_ns = takes_clock ? UINT64_MAX : label_ns; // no tick is as large: look again next time
	if (takes_clock) {
		label_ns = door_services.clock_ns() - h->start_ns;
	}
	uint64_t least_ns = s->label_ns + (takes_clock && !is_exact ? step_ns : 1);
	if (s->label_ns != UINT64_MAX && label_ns < least_ns) {
		return false; // labels never step back
	}
	s->label_ns = label_ns;
	*ns = label_ns;
	return true;
}

/** The epoch that an event of ours belongs to. One that is another thread's is ended. */
static uint64_t see_epoch(const struct thread_state *s) {
	_Atomic uint64_t *at = &segment.header->epoch;
	uint64_t epoch = atomic_load_explicit(at, memory_order_relaxed);
	for (;;) {
		uint32_t owner = wire_epoch_owner(epoch);
		if (owner == 0 || thread_state_of(segment_slot(owner - 1)) == s) {
			return epoch;
		}
		if (atomic_compare_exchange_weak(at, &epoch, wire_epoch_of_all(epoch))) {
			return wire_epoch_of_all(epoch);
		}
	}
}

/** Entries of an event: its epoch and a whole stamp, where there is a need, and `n` more. */
struct place {
	uint64_t at, epoch, stamp;
	bool has_epoch, has_stamp;
};

static bool reserve_once(struct thread_state *s, uint32_t n, bool is_sure, struct place *p) {
	struct ring *r = &s->ring;
	uint64_t epoch = see_epoch(s);
	p->has_epoch = is_sure || epoch != s->epoch;
	p->has_stamp = is_sure || wire_epoch_owner(epoch) == 0;
	n += p->has_epoch + p->has_stamp;
	p->at = ring_reserve(r, n);
	p->epoch = see_epoch(s);
	p->stamp = wire_epoch_owner(p->epoch) == 0 ? hook_take_stamp() : 0;
	// What handlers have put behind is older, unless all of it is of an epoch without stamps
	bool is_same = p->epoch == epoch;
	bool is_first = ring_reserved(r) == p->at + n || (is_same && p->stamp == 0);
	bool is_good = (is_sure || is_same) && is_first;
	if (!is_good && (!is_sure || ring_has_room(r, HOOK_ENTRIES))) {
		ring_publish_void(r, p->at, n);
		return false;
	}
	return true;
}

/**
 * Reserve `n` entries, and what their epoch and stamp take, which is published. If a handler came between,
 * once more: its events stand behind, and are older.
 */
static uint64_t reserve(struct thread_state *s, uint32_t n, uint64_t *stamp) {
	uint64_t before = s->epoch;
	struct place p;
	for (bool is_sure = false; !reserve_once(s, n, is_sure, &p); is_sure = true) {
		before = s->epoch;
	}
	if (p.has_epoch) {
		ring_publish_epoch(&s->ring, p.at++, p.epoch);
	}
	if (p.has_stamp && p.stamp != 0) {
		ring_publish_stamp(&s->ring, p.at++, p.stamp);
		s->stamp = p.stamp;
	} else if (p.has_stamp) {
		ring_publish_void(&s->ring, p.at++, 1);
	}
	// Both are there, so handlers may rely on them; but if one has come, its own stand behind
	machine_local_replace(&s->epoch, before, p.epoch);
	*stamp = p.stamp;
	return p.at;
}

/** Write an event in as many entries as it takes. True: hook_tell_collector() is due. */
static bool put_odd(struct thread_state *s, struct ring_event *event) {
	struct ring *r = &s->ring;
	uint64_t first = ring_reserved(r);
	uint64_t ns = 0;
	bool has_label = take_label(s, &ns);
	bool is_wide = wire_is_wide(event->ptr, event->size);
	uint32_t n = 1 + has_label + is_wide;
	uint64_t at = reserve(s, n, &event->stamp);
	uint64_t end = at + n;
	if (has_label) {
		ring_publish_time(r, at++, ns);
	}
	if (is_wide) {
		ring_publish_wide(r, at, event);
	} else {
		ring_publish_event(r, at, event);
	}
	return ring_crossed_quarter(r, first, (uint32_t)(end - first));
}

void hook_write_odd(struct thread_state *s, enum wire_kind kind, uint64_t ptr, uint64_t size,
		uint32_t node) {
	if (put_odd(s, &(struct ring_event){.kind = kind, .node = node, .ptr = ptr, .size = size})) {
		hook_tell_collector();
	}
}

bool hook_put_again(struct thread_state *s, uint64_t index, const struct ring_event *event) {
	struct ring_event again = *event;
	if (event->stamp != 0 && ring_reserved(&s->ring) == index + 1) {
		ring_publish_stamp(&s->ring, index, event->stamp);
	} else { // another epoch, or what handlers have put behind it is older
		ring_publish_void(&s->ring, index, 1);
	}
	return put_odd(s, &again) | ring_crossed_quarter(&s->ring, index, 1);
}

void hook_tell_collector(void) {
	door_ring_bell();
	door_look_at_collector();
}

uint64_t hook_label_now(const struct hook *h) {
	struct thread_state *s = thread_state_of(h->slot);
	uint64_t now_ns = door_may_call_system()
			? door_services.clock_ns() - segment.header->start_ns
			: atomic_load_explicit(&segment.common->tick_ns, memory_order_relaxed);
	if (s->label_ns == UINT64_MAX || now_ns > s->label_ns) {
		s->label_ns = now_ns;
		ring_publish_time(&s->ring, ring_reserve(&s->ring, 1), now_ns);
	}
	return s->label_ns;
}

// ---- realloc

void hook_realloc(struct hook *h, const void *block) {
	struct thread_state *s = thread_state_of(h->slot);
	uint64_t ptr = hook_address(block);
	hook_write(h->slot, KIND_REALLOC, ptr, 0, hook_free_node(h));
	atomic_store_explicit(&s->hooks[h->level].open_realloc, ptr, memory_order_relaxed);
}

void hook_realloc_answer(struct hook *h, const void *block, const void *moved, uint64_t size) {
	if (!door_is_ours()) {
		return;
	}
	struct thread_state *s = thread_state_of(h->slot);
	atomic_store_explicit(&s->hooks[h->level].open_realloc, 0, memory_order_relaxed);
	if (moved != NULL) {
		hook_write(h->slot, KIND_MOVED, hook_address(moved), size, h->node);
	} else {
		thread_count(&h->slot->failed, 1);
		hook_write(h->slot, KIND_STAYED, hook_address(block), 0, 0);
	}
}

void hook_realloc_unanswered(struct hook *h, const void *block) {
	if (door_is_ours()) {
		atomic_store_explicit(&thread_state_of(h->slot)->hooks[h->level].open_realloc, 0,
				memory_order_relaxed);
		hook_write(h->slot, KIND_STAYED, hook_address(block), 0, 0);
	}
}

// ---- room

/** How a wait for the collector goes on. */
struct patience {
	uint32_t heartbeat;      // last seen
	uint64_t taken;          // last seen
	uint64_t before_ns;      // when we last looked
	uint64_t no_beat_ns;     // waited without a heartbeat
	uint64_t no_progress_ns; // waited without a taken entry
};

/** Account for one wait. False: the collector is dead, or as good as dead. */
static bool stays_patient(struct patience *p, const struct ring *r) {
	const uint64_t step_max_ns = 100000000; // a longer step means that we were stopped ourselves
	const uint64_t no_beat_max_ns = 5000000000;
	const uint64_t no_progress_max_ns = 30000000000;

	uint64_t now_ns = door_services.clock_ns();
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

static void sleep_for_room(const struct ring *r, uint32_t room) {
	const struct timespec at_most = {.tv_nsec = 50000000};
	(void)syscall_4(__NR_futex, (long)&r->shared->room, FUTEX_WAIT, (long)room, (long)&at_most);
}

/** Wait until `n` entries fit. False: recording has ended. */
static bool wait_for_room(struct ring *r, uint32_t n) {
	struct patience patience = {.before_ns = door_services.clock_ns(),
			.heartbeat = atomic_load(&segment.common->heartbeat)};
	struct wire_ring *shared = r->shared;
	while (door_is_ours()) {
		uint32_t room = atomic_load(&shared->room);
		// Pairs with order_tell_taken(): it stores `taken`, then looks at `owner_waits`
		atomic_store(&shared->owner_waits, 1);
		if (ring_look_for_room(r, n)) {
			break;
		}
		door_ring_bell();
		sleep_for_room(r, room);
		door_look_at_collector();
		if (!stays_patient(&patience, r)) {
			door_close(true);
		}
	}
	atomic_store(&shared->owner_waits, 0);
	return door_is_ours();
}

/** The same where no system call may be made: some milliseconds at most. */
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
 * Make room for `n` entries. A thread that has filled its small ring once is a busy one: it moves to
 * the big ring. False: there is no room.
 */
static bool make_room(struct thread_slot *slot, unsigned level, uint32_t n) {
	struct ring *r = &thread_state_of(slot)->ring;
	if (ring_has_room(r, n)) {
		return true;
	}
	// Hooks in progress know their entries by index: the ring changes only when there are none
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
	return door_may_call_system() ? wait_for_room(r, n) : spin_for_room(r, n);
}

// ---- hooks that were left

/** True if we run on the alternate signal stack; then `low` and `high` are its bounds. */
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

/** True if a jump has left the hook `h`, seen from a stack pointer further on. */
static bool is_left(const struct hook *h, uint64_t sp) {
	if (!door_may_call_system()) {
		return false;
	}
	if (sp >= (uint64_t)h) {
		// Above it on the same stack: it has returned, or was jumped over. But a handler on a
		// stack of its own may stand above what it interrupted.
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
			capture_forget(s->captures[i]); // it may have been left half changed
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

/** The number of hooks in progress on this thread, those that were left being cleaned up. */
static unsigned count_in_progress(struct thread_slot *slot, uint64_t sp) {
	struct thread_state *s = thread_state_of(slot);
	for (unsigned level = 0; level < THREAD_LEVELS; level++) {
		const struct hook *h = hook_at(s, level);
		if (h == NULL) {
			return level;
		}
		if (is_left(h, sp)) {
			hook_clean_up(slot, level);
			return level;
		}
	}
	return THREAD_LEVELS;
}

// ---- entering

bool hook_capture_again(struct thread_slot *slot, unsigned level) {
	if (level == 0 && thread_grow(slot)) {
		return true;
	}
	thread_count(&slot->truncated, 1);
	return false;
}

bool hook_enter_slowly(struct hook *h, const struct capture_regs *caller, bool wants_stack) {
	if (!door_is_ours() && !door_find_out()) {
		return false;
	}
	struct thread_slot *slot = thread_self.slot;
	if (slot == NULL && (slot = thread_claim()) == NULL) {
		return false;
	}
	struct thread_state *s = thread_state_of(slot);
	unsigned level = count_in_progress(slot, caller->sp);
	if (level == THREAD_LEVELS) {
		thread_count(&slot->lost, 1);
		return false;
	}
	hook_begin(&s->hooks[level], h, caller->sp, ring_reserved(&s->ring));
	h->slot = slot;
	h->level = level;
	h->node = 0;
	if (level > 0) {
		// A signal handler's own, or from inside the real allocator: its stack tells
		struct capture_result result = hook_capture(slot, level, caller, hook_at(s, level - 1)->sp);
		if (!result.crossed_signal) {
			hook_forget(s, level);
			return false;
		}
		h->node = wants_stack ? result.node : 0;
	} else if (wants_stack) {
		h->node = hook_capture(slot, 0, caller, 0).node;
	}
	// Room for those that this one interrupts, too: they may have written nothing yet
	uint32_t n = HOOK_ENTRIES * (level + 1) + (level == 0 ? HOOK_ENTRIES_FOR_HANDLERS : 0);
	if (!make_room(slot, level, n)) {
		thread_count(&slot->lost, 1);
		hook_forget(s, level);
		return false;
	}
	return true;
}

// ---- usual hooks that become unusual

__attribute__((cold)) uint32_t hook_capture_more(struct thread_slot *slot,
		const struct capture_regs *caller, uint32_t node) {
	if (thread_state_of(slot)->captures[0] == NULL || hook_capture_again(slot, 0)) {
		return hook_capture(slot, 0, caller, 0).node;
	}
	return node;
}

__attribute__((cold)) void hook_end_allocation_slowly(struct hook *h, struct thread_slot *slot,
		const void *block, uint64_t size, uint32_t node) {
	hook_keep_plain(h, slot, node);
	hook_allocated(h, block, size);
	hook_leave(h);
}

__attribute__((cold)) void hook_end_free_slowly(struct hook *h, struct thread_slot *slot) {
	hook_keep_plain(h, slot, 0);
	hook_leave(h);
}
