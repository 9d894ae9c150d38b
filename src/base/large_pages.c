// SPDX-License-Identifier: MIT
/* Asks the system for large pages where they fit in. */
#include "base/arena.h"

#include <sys/mman.h>

void large_pages_prefer(void *memory, size_t bytes) {
	size_t before = -(uintptr_t)memory & (LARGE_PAGE - 1);
	if (before < bytes && bytes - before >= LARGE_PAGE) {
		size_t whole = (bytes - before) & ~((size_t)LARGE_PAGE - 1);
		// If refused, small pages will do
		(void)madvise((uint8_t *)memory + before, whole, MADV_HUGEPAGE);
	}
}
