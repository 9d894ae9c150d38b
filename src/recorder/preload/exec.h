// SPDX-License-Identifier: MIT
#pragma once
/**
 * A recorded process becomes another program, and the collector is asked to follow.
 *
 * It looks at the new program before that runs, and injects the recorder into those that cannot
 * load it (docs/attach.md). Any thread, any signal handler, children of fork and vfork: only the
 * main thread of the recorded process asks.
 */

#include <stdbool.h>

/** Before the call. Waits for the collector, some seconds at most. True: it follows. */
bool exec_begin(const char *path, bool search);
bool exec_begin_file(int fd);

/** The call has returned: there was no exec. */
void exec_failed(bool is_followed);
