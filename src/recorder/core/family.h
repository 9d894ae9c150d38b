// SPDX-License-Identifier: MIT
#pragma once
/** A child of the recorded program announces itself in the segment. Raw system calls only. */

#include "wire/segment.h"

#include <stdbool.h>

/**
 * Count this process, once however often it executes another program, and update its entry.
 * `is_fork`: it is a copy of its parent, else a program of its own. `header` is mapped.
 */
void family_announce(struct segment_header *header, bool is_fork);
