// SPDX-License-Identifier: MIT
#pragma once

/** What is known of programs that run other people's programs. */

#include "engine/quality.h"

/**
 * What one has to know of a program that runs other people's programs, to tell its user what would
 * show more: how it is made to name the functions that it runs, and who tells of the objects that
 * it keeps in memory that it maps itself, where no allocator hands them out. Private to the engine.
 */

/**
 * How the functions that it runs get names: "start it as node --perf-basic-prof
 * --interpreted-frames-native-stack". `language` is theirs. False: nothing is known that does.
 */
bool runtime_naming_flag(struct slice exe, const char **language, char out[RUNTIME_FLAG_MAX]);
