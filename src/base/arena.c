// SPDX-License-Identifier: MIT
#include "base/arena.h"

#include <stdlib.h>
#include <sys/mman.h>

struct arena_chunk {
	struct arena_chunk *next;
	size_t size; // of data
	_Alignas(16) uint8_t data[];
};

enum { CHUNK_MIN = 64 << 10, LARGE_PAGE = 2 << 20 };

// A large table is filled once, and handing it small pages one by one costs as much as filling it
static void prefer_large_pages(uint8_t *data, size_t size) {
	size_t before = -(uintptr_t)data & (LARGE_PAGE - 1);
	if (size / 2 >= LARGE_PAGE) {
		(void)madvise(data + before, (size - before) & ~((size_t)LARGE_PAGE - 1), MADV_HUGEPAGE);
	}
}

static bool add_chunk(struct arena *a, size_t need) {
	size_t size = a->bytes / 4 > CHUNK_MIN ? a->bytes / 4 : CHUNK_MIN;
	if (size < need) {
		size = need;
	}
	if (a->max_bytes && (size > a->max_bytes || a->bytes > a->max_bytes - size)) {
		return false;
	}
	// calloc: the system's fresh pages are zero already, and none is taken before its use
	struct arena_chunk *chunk = calloc(1, sizeof *chunk + size);
	if (!chunk) {
		return false;
	}
	prefer_large_pages(chunk->data, size);
	chunk->size = size;
	chunk->next = a->chunks;
	a->chunks = chunk;
	a->used = 0;
	a->bytes += size;
	return true;
}

void *arena_alloc(struct arena *a, size_t n, size_t size) {
	size_t need;
	if (__builtin_mul_overflow(n, size, &need) || need > SIZE_MAX / 2) {
		return NULL;
	}
	need = (need + 15) & ~(size_t)15;
	if (!a->chunks || need > a->chunks->size - a->used) {
		if (!add_chunk(a, need ? need : 16)) {
			return NULL;
		}
	}
	void *p = a->chunks->data + a->used;
	a->used += need;
	return p;
}

char *arena_text(struct arena *a, struct slice s) {
	char *text = arena_alloc(a, s.size + 1, 1);
	if (text && s.size) {
		memcpy(text, s.data, s.size);
	}
	return text;
}

void arena_finish(struct arena *a) {
	struct arena_chunk *chunk = a ? a->chunks : NULL;
	while (chunk) {
		struct arena_chunk *next = chunk->next;
		free(chunk);
		chunk = next;
	}
	if (a) {
		*a = (struct arena){.max_bytes = a->max_bytes};
	}
}
