// SPDX-License-Identifier: MIT
#pragma once

/** What all parts of the capture share: the recorder's view of the segment. */

#include "recorder/core/capture/capture.h"

extern struct capture_world world;

/** Raised when what was learnt of code may be wrong: a module is gone, tables came or went. */
extern _Atomic uint32_t world_generation;

/** False in seccomp's strict mode, where any system call would kill the target. */
static inline bool world_may_call_system(void) {
	return atomic_load_explicit(&world.header->no_syscalls, memory_order_relaxed) == 0;
}
