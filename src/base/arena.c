// SPDX-License-Identifier: MIT
#include "base/arena.h"

#include "base/large_pages.h"

#include <stdlib.h>

struct arena_chunk {
	struct arena_chunk *next;
	size_t size; // of data
	bool is_large;
	_Alignas(16) uint8_t data[];
};

enum { CHUNK_MIN = 64 << 10 };

static bool is_allowed(const struct arena *a, size_t size) {
	return !a->max_bytes || (size <= a->max_bytes && a->bytes <= a->max_bytes - size);
}

/** A chunk of `size` bytes for data, zeroed: large ones in whole large pages. */
static struct arena_chunk *take_chunk(size_t size, bool is_large) {
	const size_t bytes = sizeof(struct arena_chunk) + size;
	// calloc: the system's fresh pages are zero already, and none is taken before its use
	struct arena_chunk *chunk = is_large ? large_pages_take(bytes) : calloc(1, bytes);
	if (chunk) {
		chunk->size = size;
		chunk->is_large = is_large;
	}
	return chunk;
}

static void give_chunk(struct arena_chunk *chunk) {
	if (chunk->is_large) {
		large_pages_give(chunk, sizeof *chunk + chunk->size);
	} else {
		free(chunk);
	}
}

static bool add_chunk(struct arena *a, size_t need) {
	size_t size = a->bytes / 4 > CHUNK_MIN ? a->bytes / 4 : CHUNK_MIN;
	if (size < need) {
		size = need;
	}
	size_t whole = large_pages_round(sizeof(struct arena_chunk) + size) -
			sizeof(struct arena_chunk);
	bool is_large = size > LARGE_PAGE / 2 && is_allowed(a, whole);
	size = is_large ? whole : size;
	struct arena_chunk *chunk = is_allowed(a, size) ? take_chunk(size, is_large) : NULL;
	if (!chunk) {
		return false;
	}
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
		give_chunk(chunk);
		chunk = next;
	}
	if (a) {
		*a = (struct arena){.max_bytes = a->max_bytes};
	}
}
