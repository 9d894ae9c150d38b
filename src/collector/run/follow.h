// SPDX-License-Identifier: MIT
#pragma once

/**
 * The program is about to execute another one. If that cannot load the recorder, or has its own
 * allocator, the recorder is injected before it runs, as in injected.h. The program sends a
 * request through the segment's word `exec`, and waits; it is not traced before that.
 */

#include "collector/run/parts.h"

/** The program waits to be followed. */
bool exec_follow_is_asked(const struct run *run);

/** Follow it, if it asks. */
void exec_follow(struct run *run);
