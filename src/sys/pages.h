// SPDX-License-Identifier: MIT
#pragma once
/**
 * Large tables in their own pages: zeroed, allocated by the system only when touched, and grown
 * without a copy. A table can therefore be reserved much larger than its contents.
 */

#include "base/base.h"

/** Zeroed. Where there is none, as memory_new. */
void *pages_take(size_t bytes);

/** Zero some of them again, without touching pages that were never touched. */
void pages_clear(void *from, size_t bytes);

/** `pages` may be NULL. */
void pages_give(void *pages, size_t bytes);

/**
 * Room for `need` items in a table that doubles, like vec_reserve, but for programs that end where
 * there is none. *items starts as NULL, *capacity as 0.
 */
void pages_reserve(void **items, size_t *capacity, size_t need, size_t item_bytes);

// ---- memory shared with other processes through a descriptor
//
// A sparse memfd, mapped whole. Untouched pages take no memory in either process.

struct shared_memory {
	int fd; // close-on-exec
	uint8_t *base;
	uint64_t bytes;
};

/**
 * Zeroed memory of `bytes` (a multiple of the page) in an empty memfd, which becomes ours; -1:
 * there is none, errno says why. False: `err` says why, *m is finished.
 */
bool shared_memory_init(struct shared_memory *m, int fd, uint64_t bytes, struct err *err);

/** Give whole pages back to the system: they read as zeros afterwards, for all who map them. */
bool shared_memory_clear(struct shared_memory *m, uint64_t offset, uint64_t bytes);

void shared_memory_finish(struct shared_memory *m);
