// SPDX-License-Identifier: MIT
/* Translates each distinct name and path once. */
#include "symbols/names/names.h"

struct name_item {
	enum names_scheme scheme;
	struct name name;
};

struct name name_pool_get(struct name_pool *p, const char *text, enum names_scheme scheme) {
	const uint64_t hash = slice_hash((uint64_t)scheme, slice_of_text(text));
	uint32_t found = INDEX_FIND(&p->index, hash, i,
			p->items[i].scheme == scheme && strcmp(p->items[i].name.symbol, text) == 0);
	if (found != INDEX_NONE) {
		return p->items[found].name;
	}
	struct name made = {.symbol = arena_text(p->arena, slice_of_text(text))};
	made.function = scheme == NAMES_TEXT ? made.symbol
			: scheme == NAMES_PATH       ? path_normal(made.symbol, p->arena)
										 : names_demangle(made.symbol, scheme, p->arena);
	(void)index_add(&p->index, hash, (uint32_t)p->n);
	(void)vec_add(p, (struct name_item){scheme, made});
	return made;
}

void name_pool_finish(struct name_pool *pool) {
	if (pool) {
		vec_finish(pool);
		index_finish(&pool->index);
		*pool = (struct name_pool){0};
	}
}
