// SPDX-License-Identifier: MIT
/*
 * Maps memory that begins at a large page, and keeps some of it for the next request.
 *
 * A mapping begins at any small page: one that is larger by a large page holds what is wanted, and
 * what lies before and behind goes back.
 */
#include "base/arena.h"

#include <pthread.h>
#include <sys/mman.h>

static void unmap(uint8_t *from, const uint8_t *to) {
	if (to > from) {
		(void)munmap(from, (size_t)(to - from));
	}
}

// ---- what was given back, and is not yet asked for

enum { STRETCHES = 16 };

static struct {
	// Tried, never waited for: who does not get it asks the system. So a fork does no harm, either
	pthread_mutex_t mutex;
	struct stretch {
		uint8_t *pages;
		size_t bytes;
	} items[STRETCHES]; // the oldest first
	size_t n, bytes;
} kept = {.mutex = PTHREAD_MUTEX_INITIALIZER};

/** From the smallest stretch that is large enough; NULL: there is none. */
static uint8_t *take_kept(size_t bytes) {
	uint8_t *pages = NULL;
	if (pthread_mutex_trylock(&kept.mutex) != 0) {
		return NULL;
	}
	struct stretch *best = NULL;
	for (size_t i = 0; i < kept.n; i++) {
		struct stretch *s = &kept.items[i];
		best = s->bytes >= bytes && (!best || s->bytes < best->bytes) ? s : best;
	}
	if (best) {
		pages = best->pages;
		best->pages += bytes;
		best->bytes -= bytes;
		kept.bytes -= bytes;
		if (best->bytes == 0) {
			kept.n--;
			memmove(best, best + 1, (size_t)(kept.items + kept.n - best) * sizeof *best);
		}
	}
	(void)pthread_mutex_unlock(&kept.mutex);
	return pages;
}

static void drop_oldest(void) {
	struct stretch oldest = kept.items[0];
	kept.bytes -= oldest.bytes;
	kept.n--;
	memmove(kept.items, kept.items + 1, kept.n * sizeof *kept.items);
	unmap(oldest.pages, oldest.pages + oldest.bytes);
}

/** What was given back last is what is asked for next: older ones make room for it. */
static bool keep(uint8_t *pages, size_t bytes) {
	if (bytes > LARGE_PAGES_KEPT || pthread_mutex_trylock(&kept.mutex) != 0) {
		return false;
	}
	while (kept.n == STRETCHES || kept.bytes + bytes > LARGE_PAGES_KEPT) {
		drop_oldest();
	}
	kept.items[kept.n++] = (struct stretch){pages, bytes};
	kept.bytes += bytes;
	(void)pthread_mutex_unlock(&kept.mutex);
	return true;
}

// ----

void *large_pages_take(size_t bytes, bool *is_zeroed) {
	size_t whole = large_pages_round(bytes), with_slack;
	if (whole < bytes || __builtin_add_overflow(whole, (size_t)LARGE_PAGE, &with_slack)) {
		return NULL;
	}
	uint8_t *again = take_kept(whole);
	*is_zeroed = !again;
	if (again) {
		return again;
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
	size_t whole = large_pages_round(bytes);
	if (pages && !keep(pages, whole)) {
		(void)munmap(pages, whole);
	}
}
