// SPDX-License-Identifier: MIT
#pragma once

/**
 * The program is about to become another one. If that cannot load the recorder, or has an allocator of its
 * own, the recorder is put into it before it runs, as launch_injected.h does at the start. The program says so
 * by the segment's word `exec`, and waits; nobody traces it before.
 */

#include "collector/run_parts.h"

/** The program waits to be followed. */
bool exec_follow_is_asked(const struct run *run);

/** Follow it, if it asks. */
void exec_follow(struct run *run);
