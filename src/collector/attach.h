// SPDX-License-Identifier: MIT
#pragma once

/**
 * Record a program that runs already (docs/attach.md): until it ends, heaptrack gets a signal, or the
 * time is up. The program goes on as before.
 */

#include "collector/run.h"

struct attach_options {
	pid_t pid;
	uint64_t duration_ns; // 0: until somebody ends it
	uint64_t
			max_pause_ns; // for a copy of its memory, to know the blocks that it has; 0: none is made
};

/**
 * `run`: argv and environment are not used. False: it was not recorded, `err` says why and what
 * helps; the program is as it was. As run_program: called before there are other threads.
 */
bool attach_program(const struct run_options *run, const struct attach_options *attach,
		struct run_result *result, struct err *err);

/** Put right what a killed heaptrack has left in a process; `*was_attached`: there was something. */
bool attach_repair(pid_t pid, bool *was_attached, struct err *err);
