// SPDX-License-Identifier: MIT
#pragma once

/** Records for a recorder library that was loaded without heaptrack around it. */

/**
 * What the recorder library starts when it is loaded without `heaptrack` around it: records process
 * `pid`, which is told through `fd`, and writes the raw stream to where DUMP_HEAPTRACK_OUTPUT says.
 * Gives the exit status.
 */
int cli_beside(int pid, int fd);
