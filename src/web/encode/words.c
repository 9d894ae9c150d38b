// SPDX-License-Identifier: MIT
/* Texts by their hash, in a table with open addressing. */
#include "web/encode/words.h"

#include "base/vec.h"

uint32_t words_add(struct words *t, struct slice s) {
	if (s.size == 0) {
		return 0;
	}
	const uint64_t hash = slice_hash(SLICE_HASH, s);
	uint32_t found = INDEX_FIND(&t->index, hash, i, slice_equal(t->items[i], s));
	if (found != INDEX_NONE) {
		return found;
	}
	bool ok = (t->n > 0 || vec_push(t)) && index_reserve(&t->index, 1);
	struct slice *item = ok ? vec_push(t) : NULL;
	if (!item) {
		t->failed = true;
		return 0;
	}
	*item = s;
	index_put(&t->index, hash, (uint32_t)(t->n - 1));
	return (uint32_t)(t->n - 1);
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
	vec_finish(t);
	index_finish(&t->index);
	*t = (struct words){0};
}
