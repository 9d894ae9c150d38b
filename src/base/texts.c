// SPDX-License-Identifier: MIT
/* Copies of texts live in an arena, and the ids of texts in a table by hash. */
#include "base/texts.h"

#include "base/vec.h"

uint32_t texts_id(struct texts *s, struct slice text) {
	s->failed |= s->n == 0 && !vec_push(s); // id 0
	if (s->n == 0 || text.size == 0) {
		return 0;
	}
	const uint32_t hash = (uint32_t)slice_hash(SLICE_HASH, text);
	uint32_t id = INDEX_FIND(&s->ids, hash, i, slice_equal(s->items[i], text));
	if (id != INDEX_NONE) {
		return id;
	}
	const void *kept = s->borrows ? text.data : (const void *)arena_text(&s->arena, text);
	if (!kept || !vec_reserve(s, 1) || !index_add(&s->ids, hash, (uint32_t)s->n)) {
		s->failed = true;
		return 0;
	}
	s->items[s->n] = slice_of(kept, text.size);
	return (uint32_t)s->n++;
}

uint32_t texts_id_of(struct texts *s, const char *text) {
	return text ? texts_id(s, slice_of_text(text)) : 0;
}

void texts_finish(struct texts *s) {
	vec_finish(s);
	arena_finish(&s->arena);
	index_finish(&s->ids);
}
