// SPDX-License-Identifier: MIT
#pragma once
/**
 * What both ends of the control socket of a recording agree on, and where it is.
 *
 * PID.sock in the folder "heaptrack" of the user's runtime folder, which only that user can change;
 * else the abstract name heaptrack-ctl-UID-PID, where the credentials of whoever connects are
 * checked. PID is that of the recorded program.
 */

#include "collector/control.h"

enum {
	CONTROL_PROTOCOL = 1,             // the version, in the first line of every answer
	CONTROL_LINE_BYTES = 64 << 10,    // of a request, without its end
	CONTROL_ANSWER_BYTES = 256 << 10, // of an answer, all of its lines
};

/** The error after which the same request may succeed. */
#define CONTROL_BUSY "{\"error\":\"busy, try again\"}"

/** The program has ended, or heaptrack has detached: there is nothing to look at. */
#define CONTROL_TOO_LATE "{\"error\":\"the recording is being completed\"}"

/**
 * One of the three folders to try, for a user as `root` (a prefix; "" is ours) has it. `runtime`:
 * $XDG_RUNTIME_DIR, or NULL. False: this user has none there.
 */
bool control_folder(struct control_place *folder, int which, uid_t uid, const char *runtime,
		const char *root);

/** False: the name would be too long. */
bool control_in_folder(struct control_place *place, const struct control_place *folder, pid_t pid);

/** Listen at the first place where that is possible, creating the folder. -1: nowhere. */
int control_listen(struct control_place *place, pid_t pid);
