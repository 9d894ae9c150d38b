// SPDX-License-Identifier: MIT
#pragma once

/**
 * The file in which a program describes its generated code: /tmp/perf-PID.map, or its jitdump,
 * jit-PID.dump, which the program maps so that it can be found.
 */

#include <stdbool.h>
#include <sys/types.h>

struct jit_source {
	int fd;       // -1: there is none, or none yet
	bool is_dump; // as symbols/jit_dump.h tells; else symbols/perf_map.h
};

/** `inside` is the process's number as it calls itself. `wants_dump`: that is looked for, too. */
struct jit_source jit_source_open(pid_t program, pid_t inside, bool wants_dump);
