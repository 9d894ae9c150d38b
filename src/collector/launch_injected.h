// SPDX-License-Identifier: MIT
#pragma once

/**
 * Record a program that the preloaded recorder does not get into, or not into all of: statically
 * linked, of another C library, or with an allocator of its own. It is caught by ptrace when its
 * program is there, before any of its code has run; the recorder is put into it as into a running one
 * (docs/attach.md); then it is let go.
 */

#include "collector/run.h"

/** As run_program, for a launch of verdict LAUNCH_INJECTED. */
bool run_injected_program(const struct run_options *options, const struct launch *launch,
		struct run_result *result, struct err *err);
