// SPDX-License-Identifier: MIT
/* Texts live in an arena, and their ids in a table by hash. */
#include "collector/names/texts.h"

#include "base/vec.h"

uint32_t texts_id(struct texts *s, struct slice text) {
	if ((s->n == 0 && !vec_push(s)) || text.size == 0) { // id 0
		return 0;
	}
	const uint32_t hash = (uint32_t)slice_hash(SLICE_HASH, text);
	uint32_t id = INDEX_FIND(&s->ids, hash, i, slice_equal(s->items[i], text));
	if (id != INDEX_NONE) {
		return id;
	}
	char *copy = arena_text(&s->arena, text);
	struct slice *item = copy ? vec_push(s) : NULL;
	if (!item) {
		return 0;
	}
	*item = slice_of(copy, text.size);
	id = (uint32_t)(s->n - 1);
	if (!index_add(&s->ids, hash, id)) {
		s->n--;
		return 0;
	}
	return id;
}

uint32_t texts_id_of(struct texts *s, const char *text) {
	return text ? texts_id(s, slice_of_text(text)) : 0;
}

void texts_finish(struct texts *s) {
	vec_finish(s);
	arena_finish(&s->arena);
	index_finish(&s->ids);
}
