// SPDX-License-Identifier: MIT
/* Maps, remaps and clears anonymous memory. */
#include "sys/pages.h"

#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

void *pages_take(size_t bytes) {
	void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE,
			-1, 0);
	return p == MAP_FAILED ? NULL : p;
}

/** Grown to `bytes`, perhaps elsewhere; the rest is zero. NULL: out of memory, all is as it was. */
static void *grow(void *pages, size_t old_bytes, size_t bytes) {
	if (!pages) {
		return pages_take(bytes);
	}
	void *p = mremap(pages, old_bytes, bytes, MREMAP_MAYMOVE);
	return p == MAP_FAILED ? NULL : p;
}

void pages_clear(void *from, size_t bytes) {
	const size_t page = (size_t)sysconf(_SC_PAGESIZE);
	uint8_t *at = from;
	size_t before = -(uintptr_t)at & (page - 1);
	before = before < bytes ? before : bytes;
	size_t whole = (bytes - before) & ~(page - 1);
	memset(at, 0, before);
	if (madvise(at + before, whole, MADV_DONTNEED) != 0) {
		memset(at + before, 0, whole);
	}
	memset(at + before + whole, 0, bytes - before - whole);
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
	void *grown = grow(*items, *capacity * item_bytes, bytes);
	if (!grown) {
		return false;
	}
	*items = grown;
	*capacity = wanted;
	return true;
}
