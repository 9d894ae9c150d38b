// SPDX-License-Identifier: MIT
#pragma once

#include "base/arena.h"

/** "/a/./b//../c" is "/a/c"; links are not followed. NULL: no memory. */
const char *path_normal(const char *path, struct arena *arena);
