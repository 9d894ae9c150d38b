// SPDX-License-Identifier: MIT
/*
 * Translates each distinct name and path once.
 *
 * One open-addressing table of (kind, text as it came) -> what became of it. It grows by load only.
 */
#include "symbols/names/names.h"

#include "base/path.h"

#include <stdlib.h>

enum { KIND_PATH = 100, KIND_TEXT };

struct name_slot {
	uint64_t hash;
	int kind;         // KIND_*, or an enum names_scheme for a function
	struct name name; // symbol NULL: the slot is empty
};

static uint64_t hash_of(int kind, const char *text) {
	uint64_t h = 0x9e3779b97f4a7c15 * (uint64_t)(kind + 1);
	for (; *text; text++) {
		h = (h ^ (uint8_t)*text) * 0x100000001b3;
	}
	return h ^ h >> 32;
}

static struct name_slot *slot_of(struct name_pool *p, uint64_t hash, int kind, const char *text) {
	size_t i = hash & (p->capacity - 1);
	for (; p->slots[i].name.symbol; i = (i + 1) & (p->capacity - 1)) {
		const struct name_slot *s = &p->slots[i];
		if (s->hash == hash && s->kind == kind && strcmp(s->name.symbol, text) == 0) {
			break;
		}
	}
	return &p->slots[i];
}

static bool grow(struct name_pool *p) {
	struct name_pool bigger = {.arena = p->arena, .n = p->n};
	bigger.capacity = p->capacity ? p->capacity * 2 : 256;
	bigger.slots = calloc(bigger.capacity, sizeof *bigger.slots);
	if (!bigger.slots) {
		return false;
	}
	for (size_t i = 0; i < p->capacity; i++) {
		const struct name_slot *s = &p->slots[i];
		if (s->name.symbol) {
			*slot_of(&bigger, s->hash, s->kind, s->name.symbol) = *s;
		}
	}
	free(p->slots);
	*p = bigger;
	return true;
}

static const char *translate(int kind, const char *text, struct arena *arena) {
	switch (kind) {
	case KIND_PATH: return path_normal(text, arena);
	case KIND_TEXT: return text;
	default: return names_demangle(text, (enum names_scheme)kind, arena);
	}
}

static const struct name *get(struct name_pool *p, int kind, const char *text) {
	if (p->n >= p->capacity / 2 && !grow(p)) {
		return NULL;
	}
	uint64_t hash = hash_of(kind, text);
	struct name_slot *s = slot_of(p, hash, kind, text);
	if (s->name.symbol) {
		return &s->name;
	}
	struct name made = {.symbol = arena_text(p->arena, slice_of_text(text))};
	made.function = made.symbol ? translate(kind, made.symbol, p->arena) : NULL;
	if (!made.function) {
		return NULL;
	}
	*s = (struct name_slot){.hash = hash, .kind = kind, .name = made};
	p->n++;
	return &s->name;
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
		free(pool->slots);
		*pool = (struct name_pool){0};
	}
}
