// SPDX-License-Identifier: MIT
#pragma once

/**
 * Records a program whose recorder library started this collector (recorder/preload/alone.h).
 *
 * The program is not a child of this process, and waits before its first allocation for a message
 * on `fd`.
 */

#include "collector/run.h"

struct beside_options {
	pid_t pid;
	int fd; // the segment's address is written there as a line; closed
	/** The file is complete; the program, if it waits at its exit, does so until this returns. */
	void (*written)(void *user, const struct run_result *result);
	void *user;
};

/**
 * Record until the program ends or closes the recording. argv and environment in `run` are not
 * used. False: nothing was recorded, `err` says why; the program goes on. Like run_program, it must
 * be called before there are other threads.
 */
bool beside_program(const struct run_options *run, const struct beside_options *beside,
		struct run_result *result, struct err *err);
