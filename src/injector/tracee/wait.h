// SPDX-License-Identifier: MIT
#pragma once

/** Waiting for a traced thread, with a time limit. */

#include <stdint.h>
#include <sys/types.h>

enum tracee_wait {
	WAIT_STOPPED,
	WAIT_GONE, // the thread has ended
	WAIT_LATE,
};

/** Wait for a change of a traced thread, until `until_ns` of the monotonic clock. */
enum tracee_wait tracee_wait_for(pid_t tid, int *status, uint64_t until_ns);

/** Pause between two looks at what is about to change; longer from some `n`, their count, on. */
void tracee_pause(unsigned n);
