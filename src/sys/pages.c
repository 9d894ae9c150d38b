// SPDX-License-Identifier: MIT
#include "sys/pages.h"

#include <sys/mman.h>

void *pages_take(size_t bytes) {
	void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE,
			-1, 0);
	return p == MAP_FAILED ? NULL : p;
}

void *pages_grow(void *pages, size_t old_bytes, size_t bytes) {
	if (!pages) {
		return pages_take(bytes);
	}
	void *p = mremap(pages, old_bytes, bytes, MREMAP_MAYMOVE);
	return p == MAP_FAILED ? NULL : p;
}

void pages_give(void *pages, size_t bytes) {
	if (pages) {
		(void)munmap(pages, bytes);
	}
}

enum { FIRST_BYTES = 1 << 18 };

bool pages_reserve(void **items, size_t *capacity, size_t need, size_t item_bytes) {
	if (need <= *capacity) {
		return true;
	}
	size_t wanted = *capacity ? *capacity * 2 : FIRST_BYTES / item_bytes;
	if (wanted < need) {
		wanted = need;
	}
	size_t bytes;
	if (__builtin_mul_overflow(wanted, item_bytes, &bytes)) {
		return false;
	}
	void *grown = pages_grow(*items, *capacity * item_bytes, bytes);
	if (!grown) {
		return false;
	}
	*items = grown;
	*capacity = wanted;
	return true;
}
