// SPDX-License-Identifier: MIT
#pragma once

/** What opening a recording takes: its path, standard input, rules about whose code is whose. */

#include "base/buffer.h"
#include "engine/naming_rules.h"

/**
 * The user's rules about whose code a frame is (engine/naming_rules.h): --fold, then .heaptrackrc
 * in the folder of the recording, then heaptrackrc in $XDG_CONFIG_HOME, then .heaptrackrc in the
 * home folder. The first rule that matches decides.
 *
 * `recording`: its path, or NULL. Rules live in `arena`. Files and lines that cannot be used get a
 * line in `complaints`: whoever wrote them may not be who reads the recording. False: no memory, or
 * a bad pattern of --fold.
 */
bool session_rules(struct naming_rules *rules, const char *recording, const char *const *folds,
		uint32_t n_folds, struct arena *arena, struct buffer *complaints, struct err *err);

/**
 * The path of the recording that `name` means (malloc'ed, the caller frees it): `name` itself if
 * it exists, else name.zst, else name.gz. NULL: ERR_NOT_FOUND, and the message lists the recordings
 * of that folder whose names are near.
 */
char *find_recording(const char *name, struct err *err);

/**
 * A path from which all of standard input can be read repeatedly: the redirected file itself, or an
 * unnamed file in $TMPDIR that disappears with the process. The first call waits for the input; all
 * calls return the same path. NULL: `err` says why.
 */
const char *spool_stdin(struct err *err);
