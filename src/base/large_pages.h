// SPDX-License-Identifier: MIT
#pragma once

/**
 * Memory for large tables, in pages of 2 MiB where the system has them: a table is filled once, and
 * handing it out in pages of 4 KiB, one by one, costs as much as filling it. Where it has none, this
 * is memory as any other.
 *
 * Some of what is given back is kept for who asks next, LARGE_PAGES_KEPT bytes at most: on virtual
 * machines fresh memory costs more than all that is then done with it. Any thread; nobody waits.
 */

#include <stdbool.h>
#include <stddef.h>

enum { LARGE_PAGE = 2 << 20, LARGE_PAGES_KEPT = 64 << 20 };

/** Up to whole large pages: what large_pages_take really takes. Nearly SIZE_MAX overflows to 0. */
static inline size_t large_pages_round(size_t bytes) {
	return (bytes + LARGE_PAGE - 1) & ~((size_t)LARGE_PAGE - 1);
}

/**
 * Aligned to LARGE_PAGE. *is_zeroed: fresh, and none is taken from the system before its use; else it
 * holds anything. NULL: no memory.
 */
void *large_pages_take(size_t bytes, bool *is_zeroed);

/** `bytes` as they were taken. NULL is fine. */
void large_pages_give(void *pages, size_t bytes);

/** Memory that another way of taking it gave: prefer large pages for what of it they fit in. */
void large_pages_prefer(void *memory, size_t bytes);
