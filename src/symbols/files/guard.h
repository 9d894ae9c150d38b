// SPDX-License-Identifier: MIT
#pragma once

/**
 * Keeps this process alive when another one truncates a file that is mapped here.
 *
 * A library may be overwritten in place by a build. In a guarded range, pages that are gone read as
 * zeros instead of raising SIGBUS; every reader of ours takes any bytes. The handler of the process
 * is taken with the first range; a SIGBUS elsewhere does what it did before. Any thread.
 */

#include <stdbool.h>
#include <stddef.h>

/** False: too many ranges; this one stays unguarded. */
bool guard_add(const void *start, size_t bytes);

/** Before the range is unmapped. */
void guard_remove(const void *start);
