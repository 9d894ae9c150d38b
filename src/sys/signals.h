// SPDX-License-Identifier: MIT
#pragma once

/**
 * Signals of a program that runs another program on a terminal: the original dispositions are kept
 * for the other program, and signals are read from a descriptor instead of handled.
 */

#include "base/err.h"

#include <signal.h>

/** Dispositions (ignored or not) and mask that this process was started with. */
struct signals_start {
	sigset_t ignored;
	sigset_t mask;
};

void signals_save(struct signals_start *out);

/** For the child, between fork and exec: as it was. Only calls that are allowed there. */
void signals_restore(const struct signals_start *start);

/**
 * From now on: TERM, INT, HUP, QUIT, USR1, USR2, CHLD and CONT of this process arrive at the
 * returned descriptor alone (blocked in this thread and those it starts), also where they were
 * ignored; TSTP, TTIN, TTOU, PIPE and XFSZ are ignored. -1: `err` says why.
 */
int signals_open(struct err *err);

struct signals_arrived {
	int signal;
	bool is_sent; // by a process, on purpose; false: by the kernel, such as a terminal's Ctrl+C
	int sender;   // pid; 0: of another pid namespace
};

/** The next signal that has arrived; false: none. Never blocks. */
bool signals_next(int fd, struct signals_arrived *out);
