// SPDX-License-Identifier: MIT
#pragma once

/**
 * Where the control socket of a recording is: PID.sock in the folder heaptrack of the user's runtime
 * folder, which is his alone; else the abstract name heaptrack-ctl-UID-PID, where only the credentials
 * of who connects keep others out. PID is that of the recorded program.
 */

#include "base/err.h"
#include "sys/listen.h"

#include <stdbool.h>
#include <sys/types.h>

enum { CONTROL_FOLDERS = 3 };

/** The name of a socket as connect_to_unix takes it. */
struct control_place {
	char name[UNIX_NAME_BYTES];
};

/**
 * The folder that comes `which`, for a user as `root` (a prefix; "" is ours) has it. `runtime`:
 * $XDG_RUNTIME_DIR, or NULL. False: this user has none there.
 */
bool control_folder(struct control_place *folder, int which, uid_t uid, const char *runtime,
		const char *root);

/** False: the name would be too long. */
bool control_in_folder(struct control_place *place, const struct control_place *folder, pid_t pid);
void control_abstract(struct control_place *place, uid_t uid, pid_t pid);

/** A folder, no link, of this user, where nobody else may write. */
bool control_is_own(const char *folder, uid_t uid);

/** Listen where it can be done best, making the folder. -1: nowhere. */
int control_listen(struct control_place *place, pid_t pid);
