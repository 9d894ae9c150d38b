// SPDX-License-Identifier: MIT
/* The collector may be gone, or so slow that the program goes on without it. */
#include "recorder/core/awaiting.h"

#include "recorder/core/switch.h"

bool awaiting_has_collector(void) {
	uint32_t owner = atomic_load(&segment.common->owner);
	return owner != 0 && (owner & FUTEX_OWNER_DIED) == 0;
}

bool awaiting_is_allowed(void) {
	return switch_is_on_or_paused() && segment_may_ask() &&
			syscall_0(__NR_getpid) == (long)segment.header->program_pid;
}

void awaiting_change(_Atomic uint32_t *word, uint32_t value, uint32_t most_ms) {
	enum { LOOK_AGAIN_NS = 20000000 }; // at whether the collector lives
	const struct timespec nap = {.tv_nsec = LOOK_AGAIN_NS};
	uint64_t until_ns = host_clock_ns() + most_ms * 1000000ull;
	segment_ring_bell();
	while (atomic_load(word) == value && awaiting_has_collector() && host_clock_ns() < until_ns) {
		(void)syscall_4(__NR_futex, (long)word, FUTEX_WAIT, value, (long)&nap);
	}
}

/*
 * program                              collector
 *         │ SEGMENT_OPEN -> `state`, bell ───► │ takes what is in the rings, reads the pages
 *         │ ◄──────── SEGMENT_OPEN, futex      │
 *         ▼
 *
 * The other threads go on and are recorded; this one sleeps. If the collector does not answer in
 * time, or dies, the program goes on unseen.
 */
void awaiting_look(uint32_t state) {
	if (switch_is_off() || segment.header == NULL) {
		return;
	}
	struct segment_header *h = segment.header;
	uint32_t most_ms = atomic_load(&h->end_wait_ms);
	uint32_t open = SEGMENT_OPEN;
	if (most_ms == 0 || !awaiting_is_allowed()) {
		return;
	}
	awaiting_change(&h->state, SEGMENT_LOOKING, most_ms); // another thread may be waiting
	if (atomic_compare_exchange_strong(&h->state, &open, state)) {
		awaiting_change(&h->state, state, most_ms);
		(void)atomic_compare_exchange_strong(&h->state, &state, SEGMENT_OPEN);
	}
}
