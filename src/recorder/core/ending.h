// SPDX-License-Identifier: MIT
#pragma once
/** The program's end, at which the collector may look at its memory (wire/segment.h). */

/**
 * The calling thread is about to end the program: wait until the collector has looked, for
 * `end_wait_ms` at most. Returns at once if it does not ask for that, in a child, and from the
 * second call on.
 */
void ending_wait(void);
