// SPDX-License-Identifier: MIT
#pragma once

#include <stdbool.h>
#include <stddef.h>

/**
 * Private to symbols: a mapped file that another process truncates (a library overwritten in place
 * by a build) must not kill this process. In a guarded range, pages that are gone read as zeros
 * instead of raising SIGBUS; every reader of ours takes any bytes. The handler of the process is
 * taken with the first range; a SIGBUS elsewhere does what it did before. Any thread.
 */

/** False: too many ranges; this one stays unguarded. */
bool guard_add(const void *start, size_t bytes);

/** Before the range is unmapped. */
void guard_remove(const void *start);
