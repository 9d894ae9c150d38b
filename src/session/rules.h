// SPDX-License-Identifier: MIT
#pragma once

/**
 * What the user says about whose code a frame is (engine/naming_rules.h), from where it is said:
 * --fold, then .heaptrackrc in the folder of the recording, then heaptrackrc in $XDG_CONFIG_HOME,
 * then .heaptrackrc in the home folder. The first rule that matches decides, so what is nearer wins.
 */

#include "engine/naming_rules.h"

/** Rules live in `arena`. False: `err` names the file and the line that is no rule. */
bool session_rules(struct naming_rules *rules, const char *recording, const char *const *folds,
		uint32_t n_folds, struct arena *arena, struct err *err);
