// SPDX-License-Identifier: MIT
#pragma once

/** What can be recorded here, asked of the code that records. */

#include <stdint.h>

/** Of this machine, or of process `pid` if it is not 0. Gives the exit status: 0, or 1 for a no. */
int cli_check(int pid, uint64_t max_pause_ns);
