// SPDX-License-Identifier: MIT
/*
 *      program                              collector
 *         │ SEGMENT_OPEN -> ENDING, bell ────► │ takes what is in the rings, reads the pages
 *         │ ◄──────── SEGMENT_OPEN, futex      │
 *         ▼
 *
 * The other threads go on and are recorded; this one sleeps. If the collector does not answer in
 * time, or dies, the program ends without having been looked at.
 */
#include "recorder/core/ending.h"

#include "recorder/core/segment.h"
#include "recorder/core/switch.h"
#include "recorder/core/sys.h"

#include <linux/futex.h>
#include <time.h>

bool ending_has_collector(void) {
	uint32_t owner = atomic_load(&segment.common->owner);
	return owner != 0 && (owner & FUTEX_OWNER_DIED) == 0;
}

/** In a sandbox, no system call is made that the program could not be expected to make. */
static bool may_wait(void) {
	return switch_is_on_or_paused() && segment_may_call_system() &&
			atomic_load(&segment.header->has_filter) == 0 &&
			syscall_0(__NR_getpid) == (long)segment.header->program_pid; // not a child of vfork
}

void ending_wait(void) {
	enum { LOOK_AGAIN_NS = 20000000 }; // at whether the collector is alive
	if (switch_is_off() || segment.header == NULL) {
		return;
	}
	struct segment_header *h = segment.header;
	uint32_t most_ms = atomic_load(&h->end_wait_ms);
	uint32_t state = SEGMENT_OPEN;
	if (most_ms == 0 || !may_wait() ||
			!atomic_compare_exchange_strong(&h->state, &state, SEGMENT_ENDING)) {
		return;
	}
	uint64_t until_ns = host_services.clock_ns() + most_ms * 1000000ull;
	segment_ring_bell();
	const struct timespec nap = {.tv_nsec = LOOK_AGAIN_NS};
	while (atomic_load(&h->state) == SEGMENT_ENDING && ending_has_collector() &&
			host_services.clock_ns() < until_ns) {
		(void)syscall_4(__NR_futex, (long)&h->state, FUTEX_WAIT, SEGMENT_ENDING, (long)&nap);
	}
	state = SEGMENT_ENDING;
	(void)atomic_compare_exchange_strong(&h->state, &state, SEGMENT_OPEN);
}
