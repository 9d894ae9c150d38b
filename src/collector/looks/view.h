// SPDX-License-Identifier: MIT
#pragma once

/**
 * What a look reads of the process: its mappings, which pages are resident, and whose some are.
 *
 * The process is not stopped and runs no code for it. Reading takes some 20 ms for 1 GB in 1,000
 * mappings.
 */

#include "engine/parts.h"
#include "wire/segment.h"

#include <sys/types.h>

/** Zeroed: empty. */
struct view {
	struct smaps areas;
	struct pagemap pages;
	VEC(struct parts_range) ours;    // of heaptrack, by rising address
	VEC(struct parts_range) modules; // with their bss, by rising address
	uint64_t rss_before_bytes, rss_after_bytes;
	uint64_t cost_ns; // CPU time of reading
};

/**
 * `own`: what the recorder says that it has mapped. False: the process is gone or may not be read,
 * or out of memory. Finish `v` in any case.
 */
bool view_read(struct view *v, pid_t pid, const struct wire_range own[WIRE_N_OWN]);

/** Once more how much is resident now, after other things are known, too. */
void view_take_rss(struct view *v, pid_t pid);

void view_finish(struct view *v);
