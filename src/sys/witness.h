// SPDX-License-Identifier: MIT
#pragma once

/**
 * Tells whether a signal was sent to this process alone or to its whole process group.
 *
 * The kernel does not say, but it matters to a program that forwards signals: with `kill %1`,
 * `timeout`, a shell's hang-up or a service manager, the other process has already received it.
 * Therefore a tiny process in the same group counts the signals that it receives; a signal that it
 * received as well was sent to the group.
 *
 * It has a second task while this process is stopped: witness_guard.
 *
 * It is not a child of this process (init adopts it at once), has no open descriptors, is named
 * "witness" and ends when this process does, for whatever reason.
 */

#include "base/err.h"

#include <stdatomic.h>
#include <stdint.h>
#include <sys/types.h>

enum { WITNESS_SIGNALS = 32 };

struct witness {
	int life_fd;                     // closed: it ends
	pid_t pid;                       // 0: there is none, and witness_saw is always false
	_Atomic uint32_t *counts;        // by signal, shared with it
	uint32_t known[WITNESS_SIGNALS]; // counts that have been asked for
};

/** Signals must be blocked already (signals_open), and there is one thread. */
bool witness_start(struct witness *w, struct err *err);

/** True if a process sent `signal`, which has just arrived here, to the witness too. Takes 5 ms. */
bool witness_saw(struct witness *w, int signal);

/**
 * This process is about to stop because `program` has: if only the program is continued, the
 * witness continues this process, too.
 */
void witness_guard(struct witness *w, pid_t program);

/** A zeroed one is fine. */
void witness_stop(struct witness *w);
