// SPDX-License-Identifier: MIT
#pragma once
/**
 * The library alone, without `heaptrack` around it, as KDE's is used.
 *
 *     LD_PRELOAD=.../libheaptrack_preload.so DUMP_HEAPTRACK_OUTPUT=FILE PROGRAM
 *
 * or heaptrack_start(FILE) in the program starts a collector, which writes KDE's raw stream to FILE
 * at the end.
 */

#include <stdbool.h>

/** Record from here on, into `file`. False: this process is, was, or cannot be recorded. */
bool alone_start(const char *file);

/** The recording is over: wait until such a collector, if there is one, has written its file. */
void alone_wait(void);

/**
 * Have the program's exit wait until its collector has looked at it, and one that the library has
 * started has written its file. Once, at the start.
 */
void alone_begin(void);
