// SPDX-License-Identifier: MIT
#pragma once
/**
 * Memory that is shared with other processes through a descriptor: a sparse memfd, mapped whole.
 * Untouched pages take no memory in either process.
 */

#include "base/base.h"

struct shared_memory {
	int fd; // close-on-exec
	uint8_t *base;
	uint64_t bytes;
};

/** Zeroed memory of `bytes` (a multiple of the page). False: `err` says why, *m is finished. */
bool shared_memory_init(struct shared_memory *m, const char *name, uint64_t bytes, struct err *err);

/**
 * The same with an existing empty memfd; its descriptor is duplicated, and `fd` remains the
 * caller's.
 */
bool shared_memory_adopt(struct shared_memory *m, int fd, uint64_t bytes, struct err *err);

/** Give whole pages back to the system: they read as zeros afterwards, for all who map them. */
bool shared_memory_clear(struct shared_memory *m, uint64_t offset, uint64_t bytes);

void shared_memory_finish(struct shared_memory *m);
