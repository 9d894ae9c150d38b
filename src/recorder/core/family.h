// SPDX-License-Identifier: MIT
#pragma once

/**
 * A child of the recorded program says that it exists, in the segment's table of children. It records
 * nothing. Raw system calls only.
 */

#include "wire/segment.h"

#include <stdbool.h>

/**
 * Count this process, once however often it executes another program; its entry says what it is now.
 * `is_fork`: a copy of its parent, else a program of its own. Needs the header mapped.
 */
void family_announce(struct segment_header *header, bool is_fork);
