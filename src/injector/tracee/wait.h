// SPDX-License-Identifier: MIT
#pragma once

// What the files of tracee.h share; nobody else includes this.

#include "injector/tracee/tracee.h"

#include <stdint.h>
#include <sys/types.h>

enum tracee_wait {
	WAIT_STOPPED,
	WAIT_GONE, // the thread has ended
	WAIT_LATE,
};

/** Wait for a change of a traced thread, until `until_ns` of the monotonic clock. */
enum tracee_wait tracee_wait_for(pid_t tid, int *status, uint64_t until_ns);

/** Between two looks at something that is about to change: the `n`th. */
void tracee_pause(unsigned n);

/** Write to `at` what a stopped thread goes back by, to where it stands, with the mask `mask`. */
bool tracee_write_frame(const struct tracee *t, const struct tracee_thread *thread, uint64_t mask,
		uint64_t at, struct err *err);
