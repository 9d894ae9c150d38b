// SPDX-License-Identifier: MIT
#pragma once
/** Large zeroed tables, which take memory only when touched and grow without a copy. */

#include "base/base.h"

/** Zeroed memory. Fails as memory_new. */
void *pages_take(size_t bytes);

/** Zero a part again, without touching untouched pages. */
void pages_clear(void *from, size_t bytes);

/** `pages` may be NULL. */
void pages_give(void *pages, size_t bytes);

/**
 * As vec_reserve, but fails as memory_new. *items starts as NULL, *capacity as 0; capacity doubles.
 */
void pages_reserve(void **items, size_t *capacity, size_t need, size_t item_bytes);

// ---- memory shared with other processes through a descriptor
//
// A sparse memfd, mapped whole. Untouched pages take no memory in any process.

struct shared_memory {
	int fd; // close-on-exec
	uint8_t *base;
	uint64_t bytes;
};

/**
 * Zeroed memory of `bytes` (a multiple of the page) in an empty memfd, which it owns; -1: none, see
 * errno. False: see `err`; *m is finished.
 */
bool shared_memory_init(struct shared_memory *m, int fd, uint64_t bytes, struct err *err);

/** Give whole pages back to the system: they become zeros for all who map them. */
bool shared_memory_clear(struct shared_memory *m, uint64_t offset, uint64_t bytes);

void shared_memory_finish(struct shared_memory *m);
