// SPDX-License-Identifier: MIT
/* base/large_pages, base/parallel and sys/pages, without pages and threads. */
#include "base/parallel.h"
#include "sys/pages.h"

ATTR_STAND_INS

unsigned parallel_cores(void) {
	return 1;
}

unsigned parallel_parts(uint64_t work, uint64_t least) {
	return 1;
}

void parallel_run(unsigned n_parts, void (*work)(void *user, unsigned part), void *user) {
	for (unsigned i = 0; i < n_parts; i++) {
		work(user, i);
	}
}

void large_pages_prefer(void *memory, size_t bytes) {}

/** A page reads one file and goes: blocks of this size are fresh memory, never given back. */
enum { WASM_PAGE = 65536, LARGE_BYTES = 32 << 20 };

void *pages_take(size_t bytes) {
	if (bytes < LARGE_BYTES) {
		return memory_new(1, bytes);
	}
	size_t page = __builtin_wasm_memory_grow(0, bytes / WASM_PAGE + 1);
	return page == SIZE_MAX ? memory_lacks() : (void *)(page * WASM_PAGE);
}

void pages_clear(void *from, size_t bytes) {
	memset(from, 0, bytes);
}

void pages_give(void *pages, size_t bytes) {
	if (bytes < LARGE_BYTES) {
		free(pages);
	}
}

void pages_reserve(void **items, size_t *capacity, size_t need, size_t item_bytes) {
	size_t before = *capacity;
	(void)vec_grow(items, capacity, need, 0, item_bytes);
	memset((uint8_t *)*items + before * item_bytes, 0, (*capacity - before) * item_bytes);
}
