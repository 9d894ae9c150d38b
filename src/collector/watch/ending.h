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
	uint64_t next_use_ns;    // when to see again how much of the limit is used
	uint64_t most_bytes;     // that were used when ending_is_near said so last
	bool is_close;           // more than half is used
};

/** Look at the control group that the program is in; from time to time while it runs. */
void ending_look(struct ending *e, pid_t program, uint64_t now_ns);

/**
 * Nearly all of the limit is used, more than ever: the kernel may kill the program soon. To be
 * asked often, and acted upon.
 */
bool ending_is_near(struct ending *e, uint64_t now_ns);

/** The program has ended, and `n_failed` of its allocations failed: fill in meta's end. */
void ending_judge(struct ending *e, const struct watch_end *end, uint64_t end_ns, uint64_t n_failed,
		struct rec_meta *meta);
