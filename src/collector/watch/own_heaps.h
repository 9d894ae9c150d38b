// SPDX-License-Identifier: MIT
#pragma once

/**
 * Finds allocators that bypass the preloaded recorder (docs/recorder.md).
 *
 * They are a second C library (dlmopen), and a library's own allocator. They are found by checking
 * the program's mappings from time to time.
 */

#include "base/vec.h"
#include "injector/space.h"

struct own_heaps {
	uint64_t code_bytes; // of the program, as of the last check
	uint64_t next_ns;    // not before
	VEC(uint64_t) seen;  // the inodes of what was checked
	bool has_second_libc;
	void (*tell)(void *user, const char *module, const char *functions, uint32_t n,
			const char *why);
	void *user;
};

/**
 * `code_bytes`: what the program has mapped to execute; nothing is done as long as it stays the
 * same.
 */
void own_heaps_look(struct own_heaps *o, pid_t program, uint64_t code_bytes, uint64_t now_ns);
void own_heaps_finish(struct own_heaps *o);
