// SPDX-License-Identifier: MIT
#pragma once

/**
 * The user's rules about whose code a frame is (engine/naming_rules.h): --fold, then .heaptrackrc
 * in the folder of the recording, then heaptrackrc in $XDG_CONFIG_HOME, then .heaptrackrc in the
 * home folder. The first rule that matches decides.
 */

#include "base/buffer.h"
#include "engine/naming_rules.h"

/**
 * `recording`: its path, or NULL. Rules live in `arena`. Files and lines that cannot be used get a
 * line in `complaints`: whoever wrote them may not be who reads the recording. False: no memory, or
 * a bad pattern of --fold.
 */
bool session_rules(struct naming_rules *rules, const char *recording, const char *const *folds,
		uint32_t n_folds, struct arena *arena, struct buffer *complaints, struct err *err);
