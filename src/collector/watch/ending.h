// SPDX-License-Identifier: MIT
#pragma once

/**
 * Why the program ended, in addition to its status.
 *
 * The kernel killed it because memory ran out, or it reached a limit (ulimit). The kernel reports
 * neither to a parent, but control groups count the processes killed in them, and limits can be
 * read until the process is reaped (watch/watch.h).
 */

#include "collector/watch/watch.h"
#include "sys/cgroup.h"
#include "trace/recording.h"

struct ending {
	struct cgroup group;
	uint64_t limit_bytes; // of the group's memory; 0: none
	bool counts_kills;
	uint64_t kills, rose_ns; // as of the last look, and when a look saw more than the one before
};

/** Look at the control group that the program is in; from time to time while it runs. */
void ending_look(struct ending *e, pid_t program, uint64_t now_ns);

/** The program has ended, and `n_failed` of its allocations failed: fill in meta's end. */
void ending_judge(struct ending *e, const struct watch_end *end, uint64_t end_ns, uint64_t n_failed,
		struct rec_meta *meta);
