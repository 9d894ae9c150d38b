// SPDX-License-Identifier: MIT
#pragma once
/**
 * Loads from memory of a runtime, which a wrong layout or a frame that only looks like one may send
 * anywhere: only from pages that the kernel has said are readable.
 *
 * Pages stay known until the program makes a call that may take memory away (unmap_epoch). What
 * libc unmaps inside of free() is no call of the program's: nothing that is in use lies there, and
 * what may no longer be in use is looked at anew (guard_renew).
 */

#include "recorder/core/segment.h"
#include "recorder/core/unwind/walk.h"

enum { GUARD_SMALL_PAGES = 16, GUARD_BUSY_PAGES = 256 };

/** Of a context. */
struct guard {
	uint64_t *pages; // address of a page, in the place of its number's low bits; 0: none
	uint32_t mask;
	uint32_t round; // rises when all pages are forgotten
	uint64_t epoch;
};

/** A page has two places, so that two that are used in turn do not drive each other out. */
static inline uint64_t *guard_places(const struct guard *g, uint64_t address) {
	return &g->pages[2 * (address / MACHINE_PAGE_LEAST) & g->mask];
}

static inline uint64_t guard_page(uint64_t address) {
	return address & ~(MACHINE_PAGE_LEAST - 1ull);
}

/** A page that is not known: is it readable? */
static OUTLINE bool guard_ask(struct guard *g, uint64_t address) {
	uint64_t *places = guard_places(g, address);
	if (!segment_may_call_system() || !sys_is_readable(address)) {
		return false;
	}
	places[1] = places[0];
	places[0] = guard_page(address);
	return true;
}

/** Begin to load: what was known is void if memory may be gone since. */
static inline void guard_begin(struct guard *g) {
	uint64_t epoch = atomic_load_explicit(&segment.header->unmap_epoch, memory_order_acquire);
	if (g->epoch != epoch || (segment.options & SEGMENT_NO_MAPPINGS) != 0) {
		sys_fill(g->pages, 0, (g->mask + 1) * sizeof *g->pages);
		g->epoch = epoch;
		g->round++;
	}
}

/** Forget the page of `address`. */
static inline void guard_renew(struct guard *g, uint64_t address) {
	uint64_t *places = guard_places(g, address);
	places[0] = places[0] == guard_page(address) ? 0 : places[0];
	places[1] = places[1] == guard_page(address) ? 0 : places[1];
}

/** May the word at `address` be read? */
static inline bool guard_has(struct guard *g, uint64_t address) {
	const uint64_t *places = guard_places(g, address), page = guard_page(address);
	// An empty place looks like the first page
	return address % 8 == 0 && address >= MACHINE_PAGE_LEAST && address <= MACHINE_PC_MAX &&
			(likely(places[0] == page || places[1] == page) || guard_ask(g, address));
}

/** May all of `bytes`, less than a page, be read? */
static inline bool guard_covers(struct guard *g, uint64_t address, uint64_t bytes) {
	return guard_has(g, address) && guard_has(g, (address + bytes - 8) & ~7ull);
}

/** A whole word. False: there is none, or it may not be read. */
static inline bool guard_load(struct guard *g, uint64_t address, uint64_t *value) {
	bool ok = guard_has(g, address);
	*value = ok ? walk_load(address) : 0;
	return ok;
}
