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

#include "recorder/core/awaiting.h"
#include "recorder/core/segment.h"
#include "recorder/core/switch.h"
#include "recorder/core/sys.h"

void ending_wait(void) {
	if (switch_is_off() || segment.header == NULL) {
		return;
	}
	struct segment_header *h = segment.header;
	uint32_t most_ms = atomic_load(&h->end_wait_ms);
	uint32_t state = SEGMENT_OPEN;
	if (most_ms == 0 || !awaiting_is_allowed() ||
			!atomic_compare_exchange_strong(&h->state, &state, SEGMENT_ENDING)) {
		return;
	}
	awaiting_change(&h->state, SEGMENT_ENDING, most_ms);
	state = SEGMENT_ENDING;
	(void)atomic_compare_exchange_strong(&h->state, &state, SEGMENT_OPEN);
}
