// SPDX-License-Identifier: MIT
/* A hash table with open addressing over the texts; it is never more than half full. */
#include "collector/names/texts.h"

#include "base/vec.h"

static uint32_t hash_of(struct slice text) {
	return (uint32_t)slice_hash(SLICE_HASH, text);
}

// The slot that holds the text, or the free one where it belongs
static uint32_t *find(const struct texts *s, struct slice text) {
	uint32_t mask = s->n_slots - 1;
	for (uint32_t at = hash_of(text) & mask;; at = (at + 1) & mask) {
		if (s->slots[at] == 0 || slice_equal(s->items[s->slots[at]], text)) {
			return &s->slots[at];
		}
	}
}

static bool make_room(struct texts *s) {
	if (s->n == 0 && !vec_push(s)) {
		return false; // id 0
	}
	if (s->n * 2 < s->n_slots) {
		return true;
	}
	uint32_t n_slots = 1024;
	while (n_slots <= s->n * 2) {
		n_slots *= 2;
	}
	uint32_t *slots = calloc(n_slots, sizeof *slots);
	if (!slots) {
		return false;
	}
	free(s->slots);
	s->slots = slots;
	s->n_slots = n_slots;
	for (size_t id = 1; id < s->n; id++) {
		*find(s, s->items[id]) = (uint32_t)id;
	}
	return true;
}

uint32_t texts_id(struct texts *s, struct slice text) {
	if (!make_room(s) || text.size == 0) {
		return 0;
	}
	uint32_t *slot = find(s, text);
	if (*slot == 0) {
		char *copy = arena_text(&s->arena, text);
		struct slice *item = copy ? vec_push(s) : NULL;
		if (!item) {
			return 0;
		}
		*item = slice_of(copy, text.size);
		*slot = (uint32_t)(s->n - 1);
	}
	return *slot;
}

uint32_t texts_id_of(struct texts *s, const char *text) {
	return text ? texts_id(s, slice_of_text(text)) : 0;
}

void texts_finish(struct texts *s) {
	vec_finish(s);
	arena_finish(&s->arena);
	free(s->slots);
	s->slots = NULL;
	s->n_slots = 0;
}
