// SPDX-License-Identifier: MIT
#pragma once

/** The environment and arguments that a program is executed with. */

#include "collector/launch.h"

/**
 * `environ` as the program is to see it: entry 0 is left free for the segment's variable;
 * LD_PRELOAD has the recorder first, then what the user had; ASAN_OPTIONS permits that, for the
 * program and all that it starts. NULL: no memory.
 */
char **launch_environment(const char *recorder, char *const *environment, struct arena *arena);

/** `argv`, or /bin/sh before it for a launch that needs a shell. NULL: no memory. */
char **launch_arguments(const struct launch *launch, char *const *argv, struct arena *arena);
