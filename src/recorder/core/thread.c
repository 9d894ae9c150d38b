// SPDX-License-Identifier: MIT
/* A thread claims its slot at its first event; its contexts are made when first needed. */
#include "recorder/core/thread.h"

#include "recorder/core/switch.h"

static bool try_slot(struct thread_slot *slot) {
	uint32_t is_free = SLOT_FREE;
	return atomic_load_explicit(&slot->state, memory_order_relaxed) == SLOT_FREE &&
			atomic_compare_exchange_strong_explicit(&slot->state, &is_free, SLOT_CLAIMED,
					memory_order_acquire, memory_order_relaxed);
}

/** A free slot, searched for from where the last one was found. NULL: all are taken. */
static struct thread_slot *search(void) {
	struct segment_header *h = segment.header;
	do {
		uint32_t n = segment_open_slots();
		uint32_t first = atomic_load_explicit(&h->slot_hint, memory_order_relaxed);
		for (uint32_t i = 0; i < n; i++) {
			uint32_t at = (first + i) % n;
			if (try_slot(segment_slot(at))) {
				atomic_store_explicit(&h->slot_hint, at + 1, memory_order_relaxed);
				return segment_slot(at);
			}
		}
	} while (segment_open_more_slots());
	return NULL;
}

/** All slots are taken: wait a little for the collector, but not again in every thread. */
static struct thread_slot *search_again(void) {
	enum { N_TRIES = 40, PAUSE_NS = 5000000 };
	const uint64_t truce_ns = 5000000000;
	static _Atomic uint64_t in_vain_until_ns;

	uint64_t now_ns = host_clock_ns();
	if (now_ns < atomic_load(&in_vain_until_ns)) {
		return NULL;
	}
	const struct timespec pause = {.tv_nsec = PAUSE_NS};
	for (unsigned i = 0; i < N_TRIES; i++) {
		segment_ring_bell();
		uint32_t never_changes = 0;
		(void)syscall_4(__NR_futex, (long)&never_changes, FUTEX_WAIT_PRIVATE, 0, (long)&pause);
		struct thread_slot *slot = search();
		if (slot != NULL) {
			return slot;
		}
	}
	atomic_store(&in_vain_until_ns, now_ns + truce_ns);
	return NULL;
}

/** A thread may be forbidden to read the time stamp counter, and those that it makes, as well. */
static void look_at_clock(const struct thread_slot *slot) {
	int may_read = PR_TSC_ENABLE;
	// The main thread of a launched program may read it, unless our prctl saw otherwise. It is not
	// asked: its first event may come right after it entered a sandbox
	bool is_known = slot->tid == slot->pid && host_sees_prctl();
	if (!is_known && segment_may_ask() &&
			!sys_failed(syscall_2(__NR_prctl, PR_GET_TSC, (long)&may_read)) &&
			may_read != PR_TSC_ENABLE) {
		segment_count_stamps();
	}
}

static void fill_in(struct thread_slot *slot) {
	struct thread_state *s = thread_state_of(slot);
	slot->tid = (uint32_t)syscall_0(__NR_gettid);
	slot->pid = (uint32_t)syscall_0(__NR_getpid);
	slot->image = segment.image;
	slot->stack_at = (uint64_t)__builtin_frame_address(0);
	slot->thread_area = host_stack_end();
	if (slot->tid != slot->pid && segment_may_ask()) {
		(void)syscall_2(__NR_prctl, PR_GET_NAME, (long)slot->name);
	}
	look_at_clock(slot);
	ring_open(&s->ring, slot, RING_SMALL);
	s->label_ns = UINT64_MAX;
	s->tick_ns = UINT64_MAX;
	s->epoch = 0;
	s->stamp = 0;
}

// In an executable, ld turns the addition that yields &thread_self into a lea, which sets no flags,
// while the NULL check of gcc's sanitizer would use them
__attribute__((no_sanitize("null"))) struct thread_slot *thread_claim(void) {
	enum { N_LEAST_UNTIL_SEARCH = 64, N_DOUBLINGS = 8 };
	struct thread_words *self = &thread_self;
	if (self->n_until_search > 0) {
		self->n_until_search--;
		atomic_fetch_add(&segment.header->lost_no_slot, 1);
		return NULL;
	}
	// A child of vfork runs in its parent's memory, with its parent's thread_self: it uses that
	// slot, but may not leave a new one behind, as its thread id dies with it
	if (segment_may_call_system() &&
			(uint32_t)syscall_0(__NR_getpid) != segment.header->program_pid) {
		atomic_fetch_add(&segment.header->lost_no_slot, 1); // its parent shall search as before
		return NULL;
	}
	struct thread_slot *slot = NULL;
	if (segment_may_call_system() && (slot = search()) == NULL) {
		slot = search_again();
	}
	if (slot == NULL) {
		self->n_until_search = N_LEAST_UNTIL_SEARCH
				<< (self->n_refused < N_DOUBLINGS ? self->n_refused : N_DOUBLINGS);
		self->n_refused++;
		atomic_fetch_add(&segment.header->lost_no_slot, 1);
		return NULL;
	}
	fill_in(slot);
	if (self->slot != NULL) { // a handler that interrupted us was faster
		atomic_store_explicit(&slot->state, SLOT_FREE, memory_order_release);
		return self->slot;
	}
	atomic_store_explicit(&slot->state, SLOT_LIVE, memory_order_release);
	atomic_fetch_add(&segment.header->n_claims, 1); // no event of ours is older
	uint64_t none = 0; // the very first thread has the first epoch to itself
	uint64_t at = (uint64_t)((unsigned char *)slot - segment.slots);
	(void)atomic_compare_exchange_strong(&segment.common->epoch, &none,
			wire_epoch(1, segment.header->first_owner + (uint32_t)(at / segment.slot_bytes) + 1));
	self->slot = slot;
	return slot;
}

/** The end of this thread's stack. Asking libc would allocate, or wait for a lock. */
static uint64_t stack_end(const struct thread_slot *slot) {
	return slot->tid == slot->pid ? host_main_stack_end() : host_stack_end();
}

enum { SMALL_BYTES = SEGMENT_HANDLERS_AT - SLOT_PRIVATE_AT - THREAD_STATE_BYTES };
_Static_assert((size_t)SMALL_BYTES >= CAPTURE_SMALL_BYTES, "fits");
_Static_assert(SEGMENT_OPEN_BYTES - SEGMENT_CAPTURES_AT >= CAPTURE_BUSY_BYTES, "fits");

struct capture *thread_capture(struct thread_slot *slot, unsigned level) {
	struct thread_state *s = thread_state_of(slot);
	if (s->captures[level] == NULL) {
		unsigned char *memory = (unsigned char *)s + THREAD_STATE_BYTES;
		size_t bytes = SMALL_BYTES;
		if (level > 0) {
			bytes = SEGMENT_HANDLER_BYTES;
			memory = (unsigned char *)slot + SEGMENT_HANDLERS_AT + (level - 1) * bytes;
		}
		s->captures[level] = capture_init(memory, bytes, stack_end(slot), slot->tid);
	}
	return s->captures[level];
}

bool thread_grow(struct thread_slot *slot) {
	enum { GROWTH = 4 };
	struct thread_state *s = thread_state_of(slot);
	uint64_t open = s->open_bytes == 0 ? SEGMENT_OPEN_BYTES : GROWTH * s->open_bytes;
	open = open < segment.slot_bytes ? open : segment.slot_bytes;
	bool is_more = open > SEGMENT_OPEN_BYTES;
	if (open == s->open_bytes ||
			(is_more &&
					(!segment_may_call_system() ||
							!sys_mprotect(slot, open, PROT_READ | PROT_WRITE)))) {
		return false;
	}
	s->open_bytes = open;
	// Its memory is about to change, and a jump may come in between. The known stacks keep their
	// places, which do not depend on its size, and their nodes stay valid
	s->captures[0] = NULL;
	atomic_signal_fence(memory_order_seq_cst);
	s->captures[0] = capture_init((unsigned char *)slot + SEGMENT_CAPTURES_AT,
			open - SEGMENT_CAPTURES_AT, stack_end(slot), slot->tid);
	return true;
}
