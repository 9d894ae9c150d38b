// SPDX-License-Identifier: MIT
#pragma once
/** Why a process does not contain the recorder, determined from outside while it lives. */

#include "collector/launch/elf.h"
#include "sys/process.h"
#include "trace/recording.h"

#include <sys/types.h>

struct reason_context {
	const char *recorder; // path of the library that is preloaded; NULL: none is
	const char *segment;  // the variable that names the segment, "NAME=..."; NULL: none is set

	// private: the file that was read last, since children tend to run the same one
	struct process_exe file;
	struct launch_elf elf;
};

/** Whether the recorder is in the memory of a process. */
enum reason_presence {
	REASON_UNKNOWN, // it is being loaded, or gone
	REASON_PRESENT,
	REASON_ABSENT,
};
enum reason_presence reason_presence(struct reason_context *c, pid_t pid);

/** True if the program, or a process that it started, started this one: it has its variable. */
bool reason_was_started_by(struct reason_context *c, pid_t pid);

/** Why: for a process of which REASON_ABSENT is known. */
enum rec_why reason_of_process(struct reason_context *c, pid_t pid);
