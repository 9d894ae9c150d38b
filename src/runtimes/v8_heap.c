// SPDX-License-Identifier: MIT
/*
 * V8's heap. A word is a number in its upper half, or the address of an object plus one (plus three
 * for a weak reference). An object's first word is its map, which holds its type. While the heap is
 * compacted, the first word of an old copy is the address of the new one, with its low bits 0; its
 * other words are still intact.
 */
#include "runtimes/v8_parts.h"

enum { MAX_PIECES = 32, MAX_INDIRECT = 8, MAX_MOVED = 2, MAX_TABLE = 4 << 20 };

void v8_forget(struct v8_heap *h) {
	EACH_OF(block, h->blocks, V8_BLOCKS) {
		block->at = 0;
	}
}

/** The block that holds all of these bytes, read now or before. NULL: no one does. */
static const uint8_t *block_of(struct v8_heap *h, uint64_t address, size_t n) {
	uint64_t at = address & -(uint64_t)V8_BLOCK_BYTES;
	struct v8_block *block = &h->blocks[at / V8_BLOCK_BYTES % V8_BLOCKS];
	if (at == 0 || n > V8_BLOCK_BYTES - (address - at)) {
		return NULL;
	}
	bool ok = block->at == at || h->memory.read(h->memory.user, at, block->bytes, V8_BLOCK_BYTES);
	block->at = ok ? at : 0;
	return ok ? block->bytes + (address - at) : NULL;
}

bool v8_bytes(struct v8_heap *h, uint64_t address, void *out, size_t n) {
	const uint8_t *known = h->steps > 0 ? block_of(h, address, n) : NULL;
	bool ok = known || (h->steps > 0 && h->memory.read(h->memory.user, address, out, n));
	if (known) {
		memcpy(out, known, n);
	}
	h->steps -= h->steps > 0;
	h->has_failed |= !ok;
	return ok;
}

void v8_heap_finish(struct v8_heap *h) {
	for (size_t i = 0; i < h->scripts.n; i++) {
		vec_finish(&h->scripts.items[i].ends);
	}
	CALL_FOR(vec_finish, h, scripts, copies);
}

// ---- words

bool v8_is_object(uint64_t word) {
	return (word & 1) == 1 && word >> 12 != 0 && word >> 47 == 0;
}

int32_t v8_number_of(uint64_t word) {
	return (word & UINT32_MAX) == 0 ? (int32_t)(word >> 32) : V8_NO_NUMBER;
}

/** The address of a part of an object; a weak reference counts like any other. */
static uint64_t part_of(uint64_t object, int64_t offset) {
	return (object & ~(uint64_t)3) + (uint64_t)offset;
}

uint64_t v8_word(struct v8_heap *h, uint64_t object, int64_t offset) {
	uint64_t word;
	bool ok = v8_is_object(object) && v8_bytes(h, part_of(object, offset), &word, sizeof word);
	return ok ? word : V8_NOTHING;
}

int32_t v8_int(struct v8_heap *h, uint64_t object, int64_t offset) {
	int32_t n;
	bool ok = v8_is_object(object) && v8_bytes(h, part_of(object, offset), &n, sizeof n);
	return ok ? n : V8_NO_NUMBER;
}

int32_t v8_number(struct v8_heap *h, uint64_t object, int64_t offset) {
	return v8_number_of(v8_word(h, object, offset));
}

uint64_t v8_element(struct v8_heap *h, uint64_t array, int64_t index) {
	bool is_there = index >= 0 && index < v8_number(h, array, h->layout->array_length);
	return is_there ? v8_word(h, array, h->layout->array_data + 8 * index) : V8_NOTHING;
}

bool v8_append(struct v8_heap *h, uint64_t address, uint32_t n, struct buffer *out) {
	uint8_t *room = buffer_room(out, n);
	bool ok = n == 0 || v8_bytes(h, address, room, n);
	out->size += ok ? n : 0;
	return ok;
}

bool v8_byte_array(struct v8_heap *h, uint64_t array, struct buffer *out) {
	int32_t n = v8_number(h, array, h->layout->array_length);
	return n >= 0 && n <= MAX_TABLE &&
			v8_append(h, part_of(array, h->layout->array_data), (uint32_t)n, out);
}

// ---- objects

int32_t v8_type(struct v8_heap *h, uint64_t *object) {
	uint16_t type;
	uint64_t map = v8_word(h, *object, 0);
	for (int moved = 0; moved < MAX_MOVED && (map & 3) == 0; moved++) {
		*object = map | 1;
		map = v8_word(h, *object, 0);
	}
	bool ok = v8_is_object(map) &&
			v8_bytes(h, part_of(map, h->layout->map_type), &type, sizeof type);
	return ok ? type : -1;
}

bool v8_is_type(struct v8_heap *h, uint64_t *object, int32_t type) {
	return v8_type(h, object) == type;
}

// ---- strings

/** The type of a string, or -1. */
static int32_t string_type(struct v8_heap *h, uint64_t *object) {
	int32_t type = v8_type(h, object);
	return type < h->layout->type_first_nonstring ? type : -1;
}

/** The string that holds the start of the characters of an indirect one, unless it is in pieces. */
static uint64_t next_string(struct v8_heap *h, uint64_t string, int32_t form, uint32_t *from) {
	const struct v8_layout *l = h->layout;
	if (form == l->string_is_thin) {
		return v8_word(h, string, l->string_actual);
	}
	if (form == l->string_is_sliced) {
		int32_t n = v8_number(h, string, l->string_offset);
		*from += (uint32_t)n;
		return n < 0 ? V8_NOTHING : v8_word(h, string, l->string_parent);
	}
	bool is_flat = form == l->string_is_cons &&
			v8_int(h, v8_word(h, string, l->string_second), l->string_length) == 0;
	return is_flat ? v8_word(h, string, l->string_first) : V8_NOTHING;
}

bool v8_string_chars(struct v8_heap *h, uint64_t string, struct v8_chars *out) {
	const struct v8_layout *l = h->layout;
	uint32_t from = 0;
	int32_t n = -1;
	for (int i = 0; i < MAX_INDIRECT; i++) {
		int32_t type = string_type(h, &string), of_all = v8_int(h, string, l->string_length);
		if (type < 0 || of_all < 0) {
			return false;
		}
		n = n < 0 ? of_all : n;
		int32_t form = type & l->string_form_mask;
		uint32_t width = (type & l->string_width_mask) == l->string_is_one_byte ? 1 : 2;
		*out = (struct v8_chars){(uint64_t)from * width, (uint32_t)n, width};
		bool is_within = from <= (uint32_t)of_all && out->n <= (uint32_t)of_all - from;
		if (form == l->string_is_sequential) {
			out->at += part_of(string, width == 1 ? l->string_chars : l->string_two_byte_chars);
			return is_within;
		}
		if (form == l->string_is_external) {
			uint64_t start = v8_word(h, string, l->string_resource + l->external_data);
			out->at += start;
			return start != V8_NOTHING && is_within;
		}
		string = next_string(h, string, form, &from);
	}
	return false;
}

uint32_t v8_take_chars(struct v8_heap *h, const struct v8_chars *c, uint32_t from,
		uint16_t out[V8_CHARS]) {
	uint32_t n = from >= c->n ? 0 : c->n - from < V8_CHARS ? c->n - from : V8_CHARS;
	if (n == 0 || !v8_bytes(h, c->at + (uint64_t)from * c->width, out, (size_t)n * c->width)) {
		return 0;
	}
	for (uint32_t i = c->width == 1 ? n : 0; i-- > 0;) {
		out[i] = ((const uint8_t *)out)[i];
	}
	return n;
}

bool v8_put_chars(struct v8_heap *h, const struct v8_chars *chars, size_t max, struct buffer *out) {
	uint16_t some[V8_CHARS];
	for (uint32_t at = 0, n; at < chars->n && out->size < max; at += n) {
		n = v8_take_chars(h, chars, at, some);
		for (uint32_t i = 0; i < n; i++) {
			uint32_t c = some[i], low = i + 1 < n ? some[i + 1] : 0;
			if (c >> 11 == 0x1b) { // half of a pair, or a lone one
				bool is_pair = c < 0xdc00 && low >> 10 == 0x37;
				c = is_pair ? 0x10000 + ((c & 0x3ff) << 10) + (low & 0x3ff) : 0xfffd;
				i += is_pair;
			}
			buffer_utf8(out, c);
		}
		if (n == 0) {
			return false;
		}
	}
	return true;
}

bool v8_string(struct v8_heap *h, uint64_t string, size_t max, struct buffer *out) {
	const struct v8_layout *l = h->layout;
	uint64_t pieces[MAX_PIECES] = {string};
	bool ok = true;
	buffer_clear(out);
	for (size_t n = 1; ok && n > 0 && out->size < max;) {
		uint64_t piece = pieces[--n];
		struct v8_chars chars;
		if (v8_string_chars(h, piece, &chars)) {
			ok = v8_put_chars(h, &chars, max, out);
		} else {
			int32_t type = string_type(h, &piece);
			ok = n + 2 <= MAX_PIECES && type >= 0 &&
					(type & l->string_form_mask) == l->string_is_cons;
			if (ok) {
				pieces[n++] = v8_word(h, piece, l->string_second);
				pieces[n++] = v8_word(h, piece, l->string_first);
			}
		}
	}
	out->size = ok ? out->size : 0;
	return out->size > 0;
}
