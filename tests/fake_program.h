// SPDX-License-Identifier: MIT
#pragma once

/**
 * A program whose first hook finds a segment with N_SLOTS slots, and a clock that stands still.
 */

#include "fake_segment.h"
#include "recorder/core/hook/hook.h"

#include <unistd.h>

enum { N_SLOTS = 8, SLOT_BYTES = 2 << 20 };

static enum segment_role open_segment(void) {
	fake_segment(1024, 4);
	fake_slots(N_SLOTS, SLOT_BYTES);
	segment.header->program_pid = (uint32_t)getpid();
	segment.header->state = SEGMENT_OPEN;
	segment.header->common.tick_ns = 1;
	segment.header->stamps = STAMPS_COUNTED;
	return SEGMENT_ROLE_PROGRAM;
}

static uint64_t clock_ns(void) {
	return 1;
}

static uint64_t stack_end(void) {
	return 0;
}

const struct host_services host_services = {.open_segment = open_segment,
		.clock_ns = clock_ns,
		.stack_end = stack_end};
