// SPDX-License-Identifier: MIT
#pragma once
/**
 * The blocks that glibc's malloc has handed out in another process, found from outside.
 *
 * Nothing is called there, and neither symbols nor the version are needed: structures are
 * recognized by what must hold in them (glibc 2.27 to 2.41, 64 bits). What does not hold is left
 * out and counted. docs/attach.md tells what is looked at.
 *
 * The memory must not change meanwhile: that of a snapshot (injector/tracee/tracee.h) or of a
 * process whose threads are all stopped.
 */

#include "injector/space.h"

struct heap_block {
	uint64_t address; // as the program knows it
	uint64_t bytes;   // usable: what was asked for is not known
};

struct heap_walk {
	VEC(struct heap_block) blocks; // ascending by address
	uint64_t bytes;                // of all
	uint32_t n_unsure;             // heaps not walked to their end, or whose free blocks are unsure
};

/** `space` is that of `pid`. False: no heap of glibc was found, it cannot be read, or no memory. */
bool heap_walk(struct heap_walk *out, const struct process_space *space, pid_t pid);
void heap_walk_finish(struct heap_walk *w);
