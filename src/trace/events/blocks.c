// SPDX-License-Identifier: MIT
/*
 * Numbers of live blocks by address, with neighbours side by side.
 *
 * A hash of addresses would scatter what a program keeps together, and miss the cache at every
 * event. So only regions of 1 KiB are hashed; a page has a number for each 16 bytes of its region.
 * A page whose last block is gone serves another region.
 */
#include "trace/events/blocks.h"

#include <stdlib.h>
#include <string.h>

enum { REGION_SHIFT = 10, GRANULE_SHIFT = 4, PER_PAGE = 1 << (REGION_SHIFT - GRANULE_SHIFT) };

struct blocks_page {
	uint64_t numbers[PER_PAGE];
	uint32_t n; // of them not 0
	uint32_t next_free;
};

static bool is_odd(uint64_t ptr) {
	return ptr & ((1u << GRANULE_SHIFT) - 1);
}

static size_t granule(uint64_t ptr) {
	return ptr >> GRANULE_SHIFT & (PER_PAGE - 1);
}

// The page of an address, or 0
static uint32_t find_page(struct blocks *b, uint64_t ptr) {
	uint64_t region = ptr >> REGION_SHIFT;
	if (b->last_page == 0 || b->last_region != region) {
		b->last_region = region;
		b->last_page = (uint32_t)map_get(&b->regions, region);
	}
	return b->last_page;
}

static bool grow(struct blocks *b) {
	uint32_t capacity = b->capacity ? b->capacity * 2 : 64;
	size_t bytes;
	if (capacity <= b->capacity || __builtin_mul_overflow(capacity, sizeof *b->pages, &bytes)) {
		return false;
	}
	struct blocks_page *pages = realloc(b->pages, bytes);
	if (!pages) {
		return false;
	}
	b->pages = pages;
	b->capacity = capacity;
	b->n_pages = b->n_pages ? b->n_pages : 1;
	return true;
}

// A page for a region that has none; 0: out of memory
static uint32_t add_page(struct blocks *b, uint64_t region) {
	uint32_t page = b->free_page;
	if (!page && b->n_pages >= b->capacity && !grow(b)) {
		return 0;
	}
	if (!map_put(&b->regions, region, page ? page : b->n_pages)) {
		return 0;
	}
	if (page) {
		b->free_page = b->pages[page].next_free;
	} else {
		page = b->n_pages++;
		memset(&b->pages[page], 0, sizeof *b->pages);
	}
	b->last_region = region;
	b->last_page = page;
	return page;
}

uint64_t blocks_get(struct blocks *b, uint64_t ptr) {
	if (is_odd(ptr)) {
		return map_get(&b->odd, ptr);
	}
	uint32_t page = find_page(b, ptr);
	return page ? b->pages[page].numbers[granule(ptr)] : 0;
}

bool blocks_put(struct blocks *b, uint64_t ptr, uint64_t number) {
	if (is_odd(ptr)) {
		return map_put(&b->odd, ptr, number);
	}
	uint32_t page = find_page(b, ptr);
	if (!page) {
		page = add_page(b, ptr >> REGION_SHIFT);
	}
	if (!page) {
		return false;
	}
	uint64_t *at = &b->pages[page].numbers[granule(ptr)];
	b->pages[page].n += *at == 0;
	*at = number;
	return true;
}

uint64_t blocks_take(struct blocks *b, uint64_t ptr) {
	if (is_odd(ptr)) {
		return map_take(&b->odd, ptr);
	}
	uint32_t page = find_page(b, ptr);
	if (!page) {
		return 0;
	}
	struct blocks_page *p = &b->pages[page];
	uint64_t number = p->numbers[granule(ptr)];
	p->numbers[granule(ptr)] = 0;
	p->n -= number != 0;
	if (number && p->n == 0) {
		(void)map_take(&b->regions, ptr >> REGION_SHIFT);
		p->next_free = b->free_page;
		b->free_page = page;
		b->last_page = 0;
	}
	return number;
}

void blocks_clear(struct blocks *b) {
	map_clear(&b->regions);
	map_clear(&b->odd);
	b->n_pages = b->n_pages ? 1 : 0;
	b->free_page = 0;
	b->last_page = 0;
}

void blocks_finish(struct blocks *b) {
	map_finish(&b->regions);
	map_finish(&b->odd);
	free(b->pages);
	*b = (struct blocks){0};
}
