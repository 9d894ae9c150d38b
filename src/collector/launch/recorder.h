// SPDX-License-Identifier: MIT
#pragma once

/** The paths of the recorder libraries that belong to this executable. */

#include "base/arena.h"
#include "base/err.h"

/**
 * libheaptrack_preload.so: beside the real path of this executable, or in ../lib/heaptrack from
 * there. NULL: `err` says where it was looked for.
 */
const char *launch_find_recorder(struct arena *arena, struct err *err);

/** libheaptrack_inject.so, beside the other one. NULL: `err` says what is missing. */
const char *launch_find_injected(struct arena *arena, struct err *err);
