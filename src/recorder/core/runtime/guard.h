// SPDX-License-Identifier: MIT
#pragma once
/**
 * Loads from a runtime's memory only what the kernel says is readable: a wrong layout, or a frame
 * that only looks like one, may point anywhere. Pages stay known until the program makes a call
 * that may take memory away (unmap_epoch). What libc unmaps inside free() is no such call: nothing
 * in use lies there, and what may no longer be in use is checked again (guard_renew).
 */

#include "recorder/core/segment.h"
#include "recorder/core/unwind/walk.h"

enum { GUARD_SMALL_PAGES = 16, GUARD_BUSY_PAGES = 256 };

struct guard {
	uint64_t *pages; // a page's address, at the low bits of its number; 0: none
	uint32_t mask;
	uint32_t round; // rises when all pages are forgotten
	uint64_t epoch;
};

/** A page has two places, so that two used in turn do not evict each other. */
static inline uint64_t *guard_places(const struct guard *g, uint64_t address) {
	return &g->pages[2 * (address / MACHINE_PAGE_LEAST) & g->mask];
}

static inline uint64_t guard_page(uint64_t address) {
	return address & ~(MACHINE_PAGE_LEAST - 1ull);
}

/** Is a page that is not known readable? */
static OUTLINE bool guard_ask(struct guard *g, uint64_t address) {
	uint64_t *places = guard_places(g, address);
	if (!segment_may_call_system() || !sys_is_readable(address)) {
		return false;
	}
	places[1] = places[0];
	places[0] = guard_page(address);
	return true;
}

/** Begin to load: forget all pages if memory may have been taken away since. */
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
	// An empty place looks like page 0
	return address % 8 == 0 && address >= MACHINE_PAGE_LEAST && address <= MACHINE_PC_MAX &&
			(likely(places[0] == page || places[1] == page) || guard_ask(g, address));
}

/** May all of `bytes`, less than a page, be read? */
static inline bool guard_covers(struct guard *g, uint64_t address, uint64_t bytes) {
	return guard_has(g, address) && guard_has(g, (address + bytes - 8) & ~7ull);
}

/** Load a whole word. False: it is misaligned, or may not be read. */
static inline bool guard_load(struct guard *g, uint64_t address, uint64_t *value) {
	bool ok = guard_has(g, address);
	*value = ok ? walk_load(address) : 0;
	return ok;
}
