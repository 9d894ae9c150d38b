// SPDX-License-Identifier: MIT
#pragma once

/**
 * Record a program into which the recorder cannot be preloaded, or in which it would miss
 * allocators: statically linked, with another C library, or with its own allocator. It is stopped
 * by ptrace once it is loaded, before any of its code has run; the recorder is injected as into a
 * running program (docs/attach.md); then it is resumed.
 */

#include "collector/run.h"

/** As run_program, for a launch of verdict LAUNCH_INJECTED. */
bool run_injected_program(const struct run_options *options, const struct launch *launch,
		struct run_result *result, struct err *err);
