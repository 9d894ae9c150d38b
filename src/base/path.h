// SPDX-License-Identifier: MIT
#pragma once
/** Paths as text, without asking the file system. */

#include "base/arena.h"

/** "/a/b//../c" is "/a/c"; links are not followed. NULL: no memory. */
const char *path_normal(const char *path, struct arena *arena);

/** What follows the last slash: "/a/b.c" gives "b.c". */
struct slice path_base(struct slice path);
const char *path_base_name(const char *path);
