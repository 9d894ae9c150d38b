// SPDX-License-Identifier: MIT
#pragma once
/**
 * Starts a collector for a program that was not started by heaptrack.
 *
 * It is no child of the program and gets none of its descriptors but stdout and stderr.
 */

#include "recorder/core/segment.h"

/**
 * segment_open; but if nobody records this process and DUMP_HEAPTRACK_OUTPUT asks for it, with a
 * collector started for that. SEGMENT_ENV then takes the place of that variable, for this process
 * and its children.
 */
enum segment_role collector_open(char **environment);

/** Start a collector for `file`, named as in that variable, and open its segment. Once. */
enum segment_role collector_open_for(const char *file);
