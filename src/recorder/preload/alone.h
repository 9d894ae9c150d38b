// SPDX-License-Identifier: MIT
#pragma once

/**
 * The library without `heaptrack` around it:
 *
 *     LD_PRELOAD=.../libheaptrack_preload.so DUMP_HEAPTRACK_OUTPUT=FILE PROGRAM
 *
 * or heaptrack_start(FILE) from inside, starts a collector beside the program, which writes KDE's raw stream to FILE in the end. It is no
 * child of the program and gets none of its descriptors but stdout and stderr.
 */

#include "recorder/core/segment.h"

/**
 * segment_open, and if nobody records us but the variable asks for it, with a collector started for
 * that. What follows in this process and its children finds SEGMENT_ENV in place of the variable.
 */
enum segment_role beside_open(char **environment);

/**
 * Record from here on, into `file` as the variable would name it. False: this process is, was, or cannot
 * be recorded.
 */
bool beside_start(const char *file);

/** The recording is over: wait until such a collector, if there is one, has written its file. */
void beside_wait(void);

/** Have the program's exit wait until such a collector has written its file. Once, at the start. */
void beside_begin(void);
