// SPDX-License-Identifier: MIT
/* Texts by their hash, in a table with open addressing. */
#include "web/encode/words.h"

#include <stdlib.h>

static uint32_t hash(struct slice s) {
	return (uint32_t)slice_hash(SLICE_HASH, s);
}

/** Where `s` is in the slots, or the empty slot where it would be. */
static uint32_t *find(const struct words *t, struct slice s) {
	for (uint32_t i = hash(s) & (t->n_slots - 1);; i = (i + 1) & (t->n_slots - 1)) {
		if (t->slots[i] == 0 || slice_equal(t->items[t->slots[i]], s)) {
			return &t->slots[i];
		}
	}
}

/** Room for one more, with at least half of the slots empty. */
static bool make_room(struct words *t) {
	if (t->n == t->capacity) {
		size_t capacity = t->capacity ? 2 * t->capacity : 256;
		struct slice *grown = realloc(t->items, capacity * sizeof *grown);
		if (!grown) {
			return false;
		}
		t->items = grown;
		t->capacity = capacity;
	}
	if (2 * t->n < t->n_slots) {
		return true;
	}
	uint32_t n_slots = t->n_slots ? 2 * t->n_slots : 1024;
	uint32_t *slots = calloc(n_slots, sizeof *slots);
	if (!slots) {
		return false;
	}
	free(t->slots);
	t->slots = slots;
	t->n_slots = n_slots;
	for (uint32_t i = 1; i < t->n; i++) {
		*find(t, t->items[i]) = i;
	}
	return true;
}

uint32_t words_add(struct words *t, struct slice s) {
	if (s.size == 0) {
		return 0;
	}
	if (!make_room(t)) {
		t->failed = true;
		return 0;
	}
	if (t->n == 0) {
		t->items[t->n++] = (struct slice){0};
	}
	uint32_t *slot = find(t, s);
	if (*slot == 0) {
		t->items[t->n] = s;
		*slot = t->n++;
	}
	return *slot;
}

void words_write(const struct words *t, struct buffer *out) {
	buffer_varint(out, t->n ? t->n : 1);
	buffer_varint(out, 0);
	for (uint32_t i = 1; i < t->n; i++) {
		buffer_varint(out, t->items[i].size);
	}
	for (uint32_t i = 1; i < t->n; i++) {
		buffer_slice(out, t->items[i]);
	}
}

void words_finish(struct words *t) {
	free(t->items);
	free(t->slots);
	*t = (struct words){0};
}
