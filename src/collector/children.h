// SPDX-License-Identifier: MIT
#pragma once

/**
 * Processes that the program started and that are not recorded. Those that loaded the recorder say
 * so in the segment; how large they grow is looked up from outside, as long as they live.
 */

#include "base/err.h"
#include "wire/segment.h"

struct child {
	uint32_t pid;
	bool is_fork; // a copy of the program; else a program of its own
	bool is_gone;
	char name[16];
	char exe[104];
	uint64_t peak_rss_bytes;
};

struct children {
	struct child items[WIRE_N_CHILDREN];
	uint32_t n;
	uint32_t n_became; // first a fork, then a program of its own: the segment counts them as both
	uint64_t next_ns;
};

/** Look at the segment's table and at the living, at most every 250 ms of `now_ns`. */
void children_take(struct children *c, const struct segment_header *header, uint64_t now_ns);
