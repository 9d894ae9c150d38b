// SPDX-License-Identifier: MIT
#pragma once
/**
 * Memory for large tables, in pages of 2 MiB if the system has them: getting 4 KiB pages one by one
 * costs as much as filling a table that is filled once. Without large pages, this is ordinary
 * memory.
 *
 * Up to LARGE_PAGES_KEPT bytes of freed memory are kept for the next request: on virtual machines,
 * fresh memory costs more than everything that is then done with it. Callable from any thread,
 * without waiting.
 */

#include <stdbool.h>
#include <stddef.h>

enum { LARGE_PAGE = 2 << 20, LARGE_PAGES_KEPT = 64 << 20 };

/**
 * Rounded up to whole large pages, as large_pages_take does. Values near SIZE_MAX overflow to 0.
 */
static inline size_t large_pages_round(size_t bytes) {
	return (bytes + LARGE_PAGE - 1) & ~((size_t)LARGE_PAGE - 1);
}

/**
 * Aligned to LARGE_PAGE. *is_zeroed: the memory is fresh, and pages are taken from the system only
 * when used; else its contents are undefined. NULL: no memory.
 */
void *large_pages_take(size_t bytes, bool *is_zeroed);

/** `bytes` as they were taken. NULL is fine. */
void large_pages_give(void *pages, size_t bytes);

/** Prefer large pages for the parts of other memory that they fit in. */
void large_pages_prefer(void *memory, size_t bytes);
