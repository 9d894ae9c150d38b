// SPDX-License-Identifier: MIT
#pragma once
/**
 * Samples of resident memory, faults and threads of the process, taken from outside.
 *
 * Frequent at the start, every 250 ms later, every 2 s when nothing happens; in a long run, older
 * samples are thinned out, so that their number is limited, but the highest one is kept.
 */

#include "trace/recording.h"

#include <sys/types.h>

struct samples {
	VEC(struct rec_sample);
	uint64_t next_ns;                          // of the recording's time: when to take the next
	uint64_t min_gap_ns;                       // doubles whenever the samples are thinned out
	uint64_t peak_rss_bytes, peak_rss_time_ns; // by the kernel's high-water mark
	uint64_t code_bytes;                       // of the last one
	uint32_t seccomp_mode;
};

/** Take one if it is time: then true. `segment_fd` tells how much of the shared memory is ours. */
bool samples_take(struct samples *s, pid_t pid, uint64_t now_ns, bool is_idle, uint64_t heap_bytes,
		int segment_fd);
