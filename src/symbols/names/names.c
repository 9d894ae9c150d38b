// SPDX-License-Identifier: MIT
/* Translates each distinct name and path once. */
#include "symbols/names/names.h"

enum { KIND_PATH = 100, KIND_TEXT };

struct name_item {
	int kind; // KIND_*, or an enum names_scheme for a function
	struct name name;
};

static const char *translate(int kind, const char *text, struct arena *arena) {
	switch (kind) {
	case KIND_PATH: return path_normal(text, arena);
	case KIND_TEXT: return text;
	default: return names_demangle(text, (enum names_scheme)kind, arena);
	}
}

static const struct name *get(struct name_pool *p, int kind, const char *text) {
	const uint64_t hash = slice_hash((uint64_t)kind, slice_of_text(text));
	uint32_t found = INDEX_FIND(&p->index, hash, i,
			p->items[i].kind == kind && strcmp(p->items[i].name.symbol, text) == 0);
	if (found != INDEX_NONE) {
		return &p->items[found].name;
	}
	struct name made = {.symbol = arena_text(p->arena, slice_of_text(text))};
	made.function = made.symbol ? translate(kind, made.symbol, p->arena) : NULL;
	bool ok = made.function && vec_reserve(p, 1) && index_add(&p->index, hash, (uint32_t)p->n);
	if (!ok) {
		return NULL;
	}
	p->items[p->n] = (struct name_item){kind, made};
	return &p->items[p->n++].name;
}

const struct name *name_pool_function(struct name_pool *pool, const char *linkage_name,
		enum names_scheme scheme) {
	return get(pool, (int)scheme, linkage_name);
}

const char *name_pool_path(struct name_pool *pool, const char *path) {
	const struct name *n = get(pool, KIND_PATH, path);
	return n ? n->function : NULL;
}

const char *name_pool_text(struct name_pool *pool, const char *text) {
	const struct name *n = get(pool, KIND_TEXT, text);
	return n ? n->function : NULL;
}

void name_pool_finish(struct name_pool *pool) {
	if (pool) {
		vec_finish(pool);
		index_finish(&pool->index);
		*pool = (struct name_pool){0};
	}
}
