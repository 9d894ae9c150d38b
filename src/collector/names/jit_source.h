// SPDX-License-Identifier: MIT
#pragma once

/**
 * The file in which a program describes its generated code.
 *
 * It is /tmp/perf-PID.map, or a jitdump, jit-PID.dump, which the program maps to have it found.
 */

#include <stdbool.h>
#include <sys/types.h>

struct jit_source {
	int fd;       // -1: there is none, or none yet
	bool is_dump; // of symbols/jit_dump.h; else of symbols/perf_map.h
};

/** `inside`: the program's pid in its own namespace. `wants_dump`: search for a jitdump, too. */
struct jit_source jit_source_open(pid_t program, pid_t inside, bool wants_dump);
