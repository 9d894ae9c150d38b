// SPDX-License-Identifier: MIT
/*
 * Maps memory that begins at a large page.
 *
 * A mapping begins at any small page: one that is larger by a large page holds what is wanted, and
 * what lies before and behind goes back.
 */
#include "base/arena.h"

#include <sys/mman.h>

static void unmap(uint8_t *from, const uint8_t *to) {
	if (to > from) {
		(void)munmap(from, (size_t)(to - from));
	}
}

void *large_pages_take(size_t bytes) {
	size_t whole = large_pages_round(bytes), with_slack;
	if (whole < bytes || __builtin_add_overflow(whole, (size_t)LARGE_PAGE, &with_slack)) {
		return NULL;
	}
	void *p = mmap(NULL, with_slack, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	uint8_t *mapped = p == MAP_FAILED ? NULL : p;
	if (!mapped) {
		return NULL;
	}
	uint8_t *pages = mapped + (-(uintptr_t)mapped & (LARGE_PAGE - 1));
	unmap(mapped, pages);
	unmap(pages + whole, mapped + with_slack);
	(void)madvise(pages, whole, MADV_HUGEPAGE); // refused: small pages do as well
	return pages;
}

void large_pages_prefer(void *memory, size_t bytes) {
	size_t before = -(uintptr_t)memory & (LARGE_PAGE - 1);
	if (before < bytes && bytes - before >= LARGE_PAGE) {
		size_t whole = (bytes - before) & ~((size_t)LARGE_PAGE - 1);
		(void)madvise((uint8_t *)memory + before, whole, MADV_HUGEPAGE);
	}
}

void large_pages_give(void *pages, size_t bytes) {
	if (pages) {
		(void)munmap(pages, large_pages_round(bytes));
	}
}
