// SPDX-License-Identifier: MIT
#pragma once
/**
 * Signals of a program that runs another program on a terminal: the original dispositions are kept
 * for that program, and signals are read from a descriptor instead of handled.
 */

#include "base/base.h"

#include <signal.h>
#include <stdatomic.h>
#include <sys/types.h>

/** The dispositions (ignored or not) and mask that this process was started with. */
struct signals_start {
	sigset_t ignored;
	sigset_t mask;
};

void signals_save(struct signals_start *out);

/** Restore them in the child, between fork and exec. Async-signal-safe. */
void signals_restore(const struct signals_start *start);

/**
 * From now on, TERM, INT, HUP, QUIT, USR1, USR2, CHLD and CONT of this process only arrive at the
 * returned descriptor (they are blocked in this thread and those it starts), even if they were
 * ignored; TSTP, TTIN, TTOU, PIPE and XFSZ are ignored. -1: see `err`.
 */
int signals_open(struct err *err);

struct signals_arrived {
	int signal;
	bool is_sent; // by a process; false: by the kernel, such as a terminal's Ctrl+C
	int sender;   // pid; 0: in another pid namespace
};

/** The next signal that has arrived. False: none. Never blocks. */
bool signals_next(int fd, struct signals_arrived *out);

// ---- the witness

enum { WITNESS_SIGNALS = 32 };

/**
 * Tells whether a signal was sent to this process alone or to its whole process group.
 *
 * The kernel does not say, but it matters to a program that forwards signals: with `kill %1`,
 * `timeout`, a shell's hang-up or a service manager, the other process has already received it. So
 * a tiny process in the same group counts the signals that it receives; a signal that it received
 * as well was sent to the group.
 *
 * It has a second task while this process is stopped: witness_guard.
 *
 * It is not a child of this process (init adopts it at once), has no open descriptors, is named
 * "witness" and ends when this process does, for whatever reason.
 */
struct witness {
	int life_fd;                     // closing it ends the witness
	pid_t pid;                       // 0: none, and witness_saw is always false
	_Atomic uint32_t *counts;        // by signal, shared with it
	uint32_t known[WITNESS_SIGNALS]; // counts already queried
};

/** Requires blocked signals (signals_open) and a single thread. */
bool witness_start(struct witness *w);

/** Did a process send `signal`, which has just arrived here, to the witness, too? Takes 5 ms. */
bool witness_saw(struct witness *w, int signal);

/** This process is about to stop as `program` has: the witness continues it when the program is. */
void witness_guard(struct witness *w, pid_t program);

/** Zeroed is allowed. */
void witness_stop(struct witness *w);
