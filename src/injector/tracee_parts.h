// SPDX-License-Identifier: MIT
#pragma once

// What tracee.c and tracee_call.c share; nobody else includes this.

#include <stdint.h>
#include <sys/types.h>

enum tracee_wait {
	WAIT_STOPPED,
	WAIT_GONE, // the thread has ended
	WAIT_LATE,
};

/** Wait for a change of a traced thread, until `until_ns` of the monotonic clock. */
enum tracee_wait tracee_wait_for(pid_t tid, int *status, uint64_t until_ns);
