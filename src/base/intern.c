// SPDX-License-Identifier: MIT
#include "base/intern.h"

#include <stdlib.h>

static void put(struct intern_slot *slots, uint32_t mask, struct intern_slot slot) {
	uint32_t at = slot.hash;
	while (slots[at & mask].id) {
		at++;
	}
	slots[at & mask] = slot;
}

static bool grow(struct intern *t) {
	uint32_t capacity = t->capacity ? t->capacity * 2 : 64;
	struct intern_slot *slots = capacity ? calloc(capacity, sizeof *slots) : NULL;
	if (!slots) {
		return false;
	}
	for (uint32_t i = 0; i < t->capacity; i++) {
		if (t->slots[i].id) {
			put(slots, capacity - 1, t->slots[i]);
		}
	}
	free(t->slots);
	t->slots = slots;
	t->capacity = capacity;
	return true;
}

bool intern_add(struct intern *t, uint32_t hash, uint32_t id) {
	if (t->n >= t->capacity / 2 && !grow(t)) {
		return false;
	}
	put(t->slots, t->capacity - 1, (struct intern_slot){hash, id + 1});
	t->n++;
	return true;
}

void intern_finish(struct intern *t) {
	if (t) {
		free(t->slots);
		*t = (struct intern){0};
	}
}

uint32_t hash_slice(struct slice s) {
	uint64_t h = 0xcbf29ce484222325ull ^ s.size;
	while (s.size >= 8) {
		uint64_t word;
		memcpy(&word, s.data, 8);
		h = (h ^ word) * 0x9e3779b97f4a7c15ull;
		h ^= h >> 29;
		s = slice_of(s.data + 8, s.size - 8);
	}
	for (size_t i = 0; i < s.size; i++) {
		h = (h ^ s.data[i]) * 0x100000001b3ull;
	}
	h = (h ^ h >> 32) * 0x9e3779b97f4a7c15ull;
	return (uint32_t)(h >> 32);
}
