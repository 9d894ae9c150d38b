// SPDX-License-Identifier: MIT
#pragma once

/**
 * A program whose first hook finds a segment with N_SLOTS slots, and a clock that stands still.
 */

#include "fake_segment.h"
#include "recorder/core/hook/hook.h"

#include <unistd.h>

enum { N_SLOTS = 8, SLOT_BYTES = 2 << 20 };

enum segment_role host_open_segment(void) {
	fake_segment(1024, 4);
	fake_slots(N_SLOTS, SLOT_BYTES);
	segment.header->program_pid = (uint32_t)getpid();
	segment.header->state = SEGMENT_OPEN;
	segment.header->common.tick_ns = 1;
	segment.header->common.stamps = STAMPS_COUNTED;
	return SEGMENT_ROLE_PROGRAM;
}

uint64_t host_clock_ns(void) {
	return 1;
}

uint64_t host_main_stack_end(void) {
	return 0;
}
