// SPDX-License-Identifier: MIT
#pragma once

/** Whether the recorder can be preloaded into a process that has just executed a program. */

#include "injector/injector.h"

/** True: not at all, or not into all of it, but it can be injected, at the moment `*start`. */
bool launch_exec_is_ours(pid_t pid, enum injector_start *start);
