// SPDX-License-Identifier: MIT
/* Takes blocks from chunks of growing size, and keeps chunks for reuse when it is reset. */
#include "base/arena.h"

#include "base/err.h"

struct arena_chunk {
	struct arena_chunk *next;
	size_t size;  // of data
	size_t used;  // of it
	size_t dirty; // all bytes after these are zero
	_Alignas(16) uint8_t data[];
};

enum { CHUNK_MIN = 64 << 10 };

static bool is_allowed(const struct arena *a, size_t size) {
	return !a->max_bytes || (size <= a->max_bytes && a->bytes <= a->max_bytes - size);
}

static void give_chunks(struct arena_chunk *chunk) {
	while (chunk) {
		struct arena_chunk *next = chunk->next;
		free(chunk);
		chunk = next;
	}
}

static void push(struct arena_chunk **list, struct arena_chunk *chunk) {
	chunk->next = *list;
	*list = chunk;
}

static struct arena_chunk *new_chunk(struct arena *a, size_t need) {
	size_t size = a->bytes / 4 > CHUNK_MIN ? a->bytes / 4 : CHUNK_MIN;
	RAISE_TO(size, need);
	bool may_grow = a->growth && size > LARGE_PAGE / 2 && size <= SIZE_MAX / 8;
	size_t wanted = may_grow ? size * a->growth : size;
	size = is_allowed(a, wanted) ? wanted : size;
	// calloc: fresh pages from the system are zero, and only allocated when used
	struct arena_chunk *chunk = is_allowed(a, size) ? calloc(1, sizeof *chunk + size) : NULL;
	if (chunk) {
		large_pages_prefer(chunk, sizeof *chunk + size);
		chunk->size = size;
		a->bytes += size;
	}
	return chunk || a->may_lack || !is_allowed(a, size) ? chunk : memory_lacks();
}

/** The smallest spare chunk with room for `need`, or NULL. */
static struct arena_chunk *take_spare(struct arena *a, size_t need) {
	struct arena_chunk **best = NULL;
	for (struct arena_chunk **at = &a->spares; *at; at = &(*at)->next) {
		best = (*at)->size >= need && (!best || (*at)->size < (*best)->size) ? at : best;
	}
	struct arena_chunk *chunk = best ? *best : NULL;
	if (chunk) {
		*best = chunk->next;
	}
	return chunk;
}

static bool add_chunk(struct arena *a, size_t need) {
	struct arena_chunk *chunk = take_spare(a, need) ?: new_chunk(a, need);
	if (chunk) {
		push(&a->chunks, chunk);
	}
	return chunk != NULL;
}

void *arena_alloc_unset(struct arena *a, size_t n, size_t size) {
	size_t need;
	if (__builtin_mul_overflow(n, size, &need) || need > SIZE_MAX / 2) {
		return memory_lacks();
	}
	need = (need + 15) & ~(size_t)15;
	if ((!a->chunks || need > a->chunks->size - a->chunks->used) &&
			!add_chunk(a, need ? need : 16)) {
		return NULL;
	}
	uint8_t *p = a->chunks->data + a->chunks->used;
	a->chunks->used += need;
	return p;
}

void *arena_alloc(struct arena *a, size_t n, size_t size) {
	uint8_t *p = arena_alloc_unset(a, n, size);
	if (p) {
		const struct arena_chunk *chunk = a->chunks;
		size_t at = (size_t)(p - chunk->data);
		if (UNLIKELY(at < chunk->dirty)) {
			size_t n_dirty = chunk->dirty - at, bytes = chunk->used - at;
			memset(p, 0, bytes < n_dirty ? bytes : n_dirty);
		}
	}
	return p;
}

void *arena_copy(struct arena *a, const void *things, size_t n, size_t size) {
	void *copy = arena_alloc_unset(a, n ? n : 1, size);
	if (copy && n) {
		memcpy(copy, things, n * size);
	}
	return copy;
}

char *arena_text(struct arena *a, struct slice s) {
	char *text = arena_alloc(a, s.size + 1, 1);
	if (text && s.size) {
		memcpy(text, s.data, s.size);
	}
	return text;
}

char *arena_printf(struct arena *a, const char *fmt, ...) {
	size_t size = (size_t)FORMAT_ARGS(NULL, 0, fmt) + 1;
	char *text = arena_alloc_unset(a, size, 1);
	if (text) {
		(void)FORMAT_ARGS(text, size, fmt);
	}
	return text;
}

void arena_finish(struct arena *a) {
	if (a) {
		give_chunks(a->chunks);
		give_chunks(a->spares);
		*a = (struct arena){FIELDS_OF(a, max_bytes, growth, may_lack)};
	}
}

void arena_reset(struct arena *a) {
	give_chunks(a->spares);
	struct arena_chunk *chunk = a->chunks;
	a->chunks = a->spares = NULL;
	a->bytes = 0;
	while (chunk) {
		struct arena_chunk *next = chunk->next;
		chunk->dirty = chunk->used > chunk->dirty ? chunk->used : chunk->dirty;
		chunk->used = 0;
		a->bytes += chunk->size;
		push(&a->spares, chunk);
		chunk = next;
	}
}
