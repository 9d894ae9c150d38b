// SPDX-License-Identifier: MIT
#pragma once

/** Shortens the names of functions for tables. */

#include "base/arena.h"

/**
 * A function's name, shortened for tables: template arguments become <>, parameters (), the return
 * type and ABI tags go. "void f<int>(char, int)" gives "f<>()"; "buildMatrix(int)" gives
 * "buildMatrix()"; names of C, Rust, Nim and module+0xoffset stay as they are but for generic
 * arguments. NULL: out of memory. The result ends in a zero byte that is not counted.
 */
char *function_short(struct slice name, struct arena *arena);

/** As KDE's tools shorten: template arguments become <>, all else stays. */
char *template_short(struct slice name, struct arena *arena);
