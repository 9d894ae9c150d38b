// SPDX-License-Identifier: MIT
#include "recorder/preload/early.h"

#include "recorder/core/sys.h"

#include <errno.h>
#include <stdatomic.h>

_Alignas(EARLY_PAGE) unsigned char early_arena[EARLY_BYTES];
static _Atomic size_t n_used;

/** Stands before each block. */
struct header {
	_Alignas(16) size_t size;
};

void *early_memalign(size_t alignment, size_t size) {
	if (alignment < sizeof(struct header)) {
		alignment = sizeof(struct header);
	}
	if ((alignment & (alignment - 1)) != 0) {
		errno = EINVAL;
		return NULL;
	}
	size_t used = atomic_load(&n_used);
	size_t at = 0;
	do {
		at = (used + sizeof(struct header) + alignment - 1) & ~(alignment - 1);
		if (alignment > EARLY_BYTES || size > EARLY_BYTES || at + size > EARLY_BYTES) {
			errno = ENOMEM;
			return NULL;
		}
	} while (!atomic_compare_exchange_weak(&n_used, &used, at + size));
	unsigned char *block = early_arena + at;
	((struct header *)block)[-1].size = size;
	return block;
}

void *early_malloc(size_t size) {
	return early_memalign(sizeof(struct header), size);
}

int early_memalign_at(void **at, size_t alignment, size_t size) {
	int before = errno;
	void *block = early_memalign(alignment, size);
	int failure = block == NULL ? errno : 0;
	errno = before;
	if (failure == 0) {
		*at = block;
	}
	return failure;
}

size_t early_size(const void *ptr) {
	return ((const struct header *)ptr)[-1].size;
}

void *early_realloc(void *ptr, size_t size) {
	void *block = ptr == NULL || early_owns(ptr) ? early_malloc(size) : NULL;
	if (block != NULL && ptr != NULL) {
		sys_copy(block, ptr, early_size(ptr) < size ? early_size(ptr) : size);
	}
	return block;
}
