// SPDX-License-Identifier: MIT
/* Maps by linear probing, which close gaps when a key is removed; and texts by their hash. */
#include "base/index.h"

enum { MIN_CAPACITY = 1024 };

static size_t home(const struct map *m, uint64_t key) {
	return (size_t)((key * 0x9E3779B97F4A7C15ull) >> (64 - (unsigned)__builtin_ctzll(m->capacity)));
}

// Where the key is, or the free slot where it would go
static size_t find(const struct map *m, uint64_t key) {
	size_t mask = m->capacity - 1;
	size_t i = home(m, key);
	while (m->entries[i].value && m->entries[i].key != key) {
		i = (i + 1) & mask;
	}
	return i;
}

uint64_t map_get(const struct map *m, uint64_t key) {
	return m->capacity ? m->entries[find(m, key)].value : 0;
}

bool map_reserve(struct map *m, size_t more) {
	struct map bigger = {.n = m->n, .capacity = m->capacity ? m->capacity * 2 : MIN_CAPACITY};
	if (m->n + more <= m->capacity / 2) {
		return true;
	}
	while (m->n + more > bigger.capacity / 2) {
		bigger.capacity *= 2;
	}
	bigger.entries = calloc(bigger.capacity, sizeof *bigger.entries);
	if (!bigger.entries) {
		return memory_lacks() != NULL;
	}
	EACH_OF_THAT(e, m->entries, m->capacity, e->value) {
		bigger.entries[find(&bigger, e->key)] = *e;
	}
	free(m->entries);
	*m = bigger;
	return true;
}

uint64_t map_set(struct map *m, uint64_t key, uint64_t value) {
	struct map_entry *e = &m->entries[find(m, key)];
	uint64_t replaced = e->value;
	m->n += replaced == 0;
	*e = (struct map_entry){key, value};
	return replaced;
}

bool map_put(struct map *m, uint64_t key, uint64_t value) {
	bool has_room = map_reserve(m, 1);
	if (has_room) {
		(void)map_set(m, key, value);
	}
	return has_room;
}

// Move entries into the gap unless their home is after it
static void close_gap(struct map *m, size_t gap) {
	size_t mask = m->capacity - 1;
	for (size_t i = (gap + 1) & mask; m->entries[i].value; i = (i + 1) & mask) {
		size_t from_home = (i - home(m, m->entries[i].key)) & mask;
		if (from_home >= ((i - gap) & mask)) {
			m->entries[gap] = m->entries[i];
			gap = i;
		}
	}
	m->entries[gap] = (struct map_entry){0};
}

uint64_t map_take(struct map *m, uint64_t key) {
	if (!m->capacity) {
		return 0;
	}
	size_t i = find(m, key);
	uint64_t value = m->entries[i].value;
	if (value) {
		m->n--;
		close_gap(m, i);
	}
	return value;
}

void map_fetch(const struct map *m, uint64_t key) {
	if (m->capacity) {
		__builtin_prefetch(&m->entries[home(m, key)], 1);
	}
}

void map_clear(struct map *m) {
	m->n = 0;
	if (m->capacity) {
		memset(m->entries, 0, m->capacity * sizeof *m->entries);
	}
}

void map_finish(struct map *m) {
	free(m->entries);
	*m = (struct map){0};
}

// ---- texts

uint32_t texts_id(struct texts *s, struct slice text) {
	if (s->n == 0) {
		(void)vec_push(s); // id 0
	}
	if (text.size == 0) {
		return 0;
	}
	const uint32_t hash = (uint32_t)slice_hash(SLICE_HASH, text);
	return VEC_FIND_OR_ADD(&s->ids, s, hash, it, slice_equal(*it, text),
			s->borrows ? text : slice_of(arena_text(&s->arena, text), text.size));
}

uint32_t texts_id_of(struct texts *s, const char *text) {
	return text ? texts_id(s, slice_of_text(text)) : 0;
}

void texts_finish(struct texts *s) {
	vec_finish(s);
	arena_finish(&s->arena);
	index_finish(&s->ids);
}
