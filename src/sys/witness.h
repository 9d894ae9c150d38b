// SPDX-License-Identifier: MIT
#pragma once

/**
 * Was a signal meant for us alone, or for our whole process group? The kernel does not say, and it
 * matters to whoever passes signals on: with `kill %1`, `timeout`, a shell's hang-up or a
 * service manager the other process has it already. So a tiny process in the same group does
 * nothing but count what arrives; what it has got as well was sent to all.
 *
 * While we are stopped it has a second duty: witness_guard.
 *
 * It is no child of ours (it is handed to init at once), holds no descriptor, goes by the name of
 * "witness" and ends with us, however we end.
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
 * We are about to stop because `program` has: if it goes on and we do not, because somebody
 * continued it alone, the witness continues us.
 */
void witness_guard(struct witness *w, pid_t program);

/** A zeroed one is fine. */
void witness_stop(struct witness *w);
