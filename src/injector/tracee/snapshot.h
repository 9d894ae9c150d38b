// SPDX-License-Identifier: MIT
#pragma once
/**
 * A copy of a process that never runs: its memory at one moment, to be read while the process goes
 * on.
 *
 * It is a child of the process, made by a system call of a stopped thread and traced from its
 * birth. It shares the table of open files, so that it keeps none open, and its end raises no
 * signal. The kernel copies only page tables, some 30 ms for each GB. It ends with the tracer at
 * the latest.
 */

#include "injector/injector.h"
#include "injector/tracee/tracee.h"

struct snapshot {
	pid_t pid;        // 0: there is none
	pid_t pid_inside; // as the process calls it
	uint64_t cost_ns; // that all threads were stopped for it
};

/**
 * Is a copy likely to be made within that time? Asked while the process runs. `*takes_ns`: what it
 * takes at most, as far as had to be found out for the answer.
 */
bool snapshot_fits(pid_t pid, uint64_t within_ns, uint64_t *takes_ns);

/**
 * Make a copy. All threads are stopped; all but the first are let go when it is there, or when the
 * time is up: LATE. FAILED: the kernel refused, for lack of memory or of processes.
 */
enum injector_no_copy snapshot_take(struct snapshot *s, struct tracee *t, uint64_t within_ns);

/** End it. One thread must be stopped, to reap it for the process; NULL: the process is gone. */
void snapshot_drop(struct snapshot *s, struct tracee *t);
