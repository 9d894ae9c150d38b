// SPDX-License-Identifier: MIT
#pragma once
/**
 * Finds allocators that are not recorded (docs/recorder.md).
 *
 * They are Boehm's garbage collector, Go's and, if the recorder is preloaded, a second C library
 * (dlmopen), and a library's own allocator. They are found by checking the program's mappings from
 * time to time; an injected recorder hooks all but the first two.
 */

#include "injector/space.h"

struct own_heaps {
	uint64_t code_bytes; // executable mappings of the program at the last check
	uint64_t next_ns;    // time of the next check at the earliest
	VEC(uint64_t) seen;  // inodes of the files that were checked
	bool has_second_libc, has_collector, has_go;
	void (*tell)(void *user, const char *module, const char *functions, uint32_t n,
			const char *why);
	void *user;
};

/**
 * `code_bytes`: size of the program's executable mappings. As long as it stays the same, nothing is
 * checked.
 */
void own_heaps_look(struct own_heaps *o, pid_t program, bool is_preloaded, uint64_t code_bytes,
		uint64_t now_ns);

/** A module, which may be a garbage collector's library: its blocks are never seen to be freed. */
void own_heaps_meet(struct own_heaps *o, const char *path);
