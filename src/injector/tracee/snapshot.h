// SPDX-License-Identifier: MIT
#pragma once

/**
 * A copy of a process that never runs: its memory as it was at one moment, to be read at leisure
 * while the process goes on. It is a child of the process, made by a system call of a stopped thread,
 * that is traced from its birth; it shares the open files, so that none stays open by it, and its end
 * raises no signal. The kernel copies page tables alone, some 30 ms for each GB. That cannot be broken
 * off, and whoever writes to a page meanwhile waits: so it is estimated first.
 *
 * Ends with the tracer at the latest.
 */

#include "injector/injector.h"
#include "injector/tracee/tracee.h"

struct snapshot {
	pid_t pid;        // 0: there is none
	pid_t pid_inside; // as the process calls it
	uint64_t cost_ns; // that all threads were stopped for it
};

/** Will a copy of the process most likely be made within that time? It runs. */
bool snapshot_fits(pid_t pid, uint64_t within_ns);

/**
 * All threads are stopped; all but the first have been let go of afterwards, when the copy was there or the
 * time was up. Not COPIED: it was, or the kernel refuses, for lack of memory or of processes.
 */
enum injector_no_copy snapshot_take(struct snapshot *s, struct tracee *t, uint64_t within_ns);

/** End it. One thread must be stopped, for its parent has to take note; NULL: the process is gone. */
void snapshot_drop(struct snapshot *s, struct tracee *t);
