// SPDX-License-Identifier: MIT
#pragma once

/** A process that has just execed, and has not run yet: does the preloaded recorder get into it? */

#include "injector/injector.h"

/** True: not by itself, or not into all of it, but the injected one does, and `*start` says when. */
bool launch_exec_is_ours(pid_t pid, enum injector_start *start);
