// SPDX-License-Identifier: MIT
#pragma once

/** What is known of programs that run other people's programs. */

#include "base/slice.h"

#include <stdbool.h>

/**
 * What one has to know of a program that runs other people's programs, to tell its user what would
 * show more: how it is made to name the functions that it runs, and who tells of the objects that
 * it keeps in memory that it maps itself, where no allocator hands them out. Private to the engine.
 */

enum { RUNTIME_FLAG_MAX = 160 };

/**
 * How the functions that it runs get names: "start it as node --perf-basic-prof
 * --interpreted-frames-native-stack". `language` is theirs. False: nothing is known that does.
 */
bool runtime_naming_flag(struct slice exe, const char **language, char out[RUNTIME_FLAG_MAX]);

/**
 * "node maps memory for JavaScript's objects itself; node --heap-prof tells of them". False:
 * unknown.
 */
bool runtime_own_memory(struct slice exe, char out[RUNTIME_FLAG_MAX]);
