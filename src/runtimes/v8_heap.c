// SPDX-License-Identifier: MIT
/*
 * V8's heap. A word is a number in its upper half, or the address of an object plus one (plus three
 * for a weak reference). An object's first word is its map, which has the type of the object.
 * While the heap is compacted, the first word of the old copy is the address of the new one, whose
 * low bits are 0; all other words of the old copy still stand.
 */
#include "runtimes/v8_heap.h"

enum { MAX_PIECES = 32, MAX_INDIRECT = 8, MAX_MOVED = 2 };

bool v8_bytes(struct v8_heap *h, uint64_t address, void *out, size_t n) {
	bool ok = h->steps > 0 && h->memory.read(h->memory.context, address, out, n);
	h->steps -= h->steps > 0;
	h->has_failed |= !ok;
	return ok;
}

void v8_heap_finish(struct v8_heap *h) {
	for (size_t i = 0; i < h->scripts.n; i++) {
		vec_finish(&h->scripts.items[i].ends);
	}
	vec_finish(&h->scripts);
	vec_finish(&h->copies);
}

// ---- words

bool v8_is_object(uint64_t word) {
	return (word & 1) == 1 && word >> 12 != 0 && word >> 47 == 0;
}

bool v8_is_number(uint64_t word, int32_t *number) {
	*number = (int32_t)(word >> 32);
	return (word & UINT32_MAX) == 0;
}

/** The address of a part of an object; a weak reference is one like any other. */
static uint64_t part_of(uint64_t object, int64_t offset) {
	return (object & ~(uint64_t)3) + (uint64_t)offset;
}

bool v8_word(struct v8_heap *h, uint64_t object, int64_t offset, uint64_t *out) {
	return v8_is_object(object) && v8_bytes(h, part_of(object, offset), out, sizeof *out);
}

bool v8_int(struct v8_heap *h, uint64_t object, int64_t offset, int32_t *out) {
	return v8_is_object(object) && v8_bytes(h, part_of(object, offset), out, sizeof *out);
}

bool v8_number(struct v8_heap *h, uint64_t object, int64_t offset, int32_t *out) {
	uint64_t word;
	return v8_word(h, object, offset, &word) && v8_is_number(word, out);
}

bool v8_element(struct v8_heap *h, uint64_t array, int64_t index, uint64_t *out) {
	int32_t n;
	return v8_number(h, array, h->layout->array_length, &n) && index >= 0 && index < n &&
			v8_word(h, array, h->layout->array_data + 8 * index, out);
}

bool v8_append(struct v8_heap *h, uint64_t address, uint32_t n, struct buffer *out) {
	uint8_t *room = buffer_room(out, n);
	bool ok = room && (n == 0 || v8_bytes(h, address, room, n));
	out->size += ok ? n : 0;
	return ok;
}

bool v8_byte_array(struct v8_heap *h, uint64_t array, int32_t max, struct buffer *out) {
	int32_t n;
	return v8_number(h, array, h->layout->array_length, &n) && n >= 0 && n <= max &&
			v8_append(h, part_of(array, h->layout->array_data), (uint32_t)n, out);
}

// ---- objects

bool v8_type(struct v8_heap *h, uint64_t *object, int32_t *type) {
	uint64_t map;
	for (int moved = 0; moved <= MAX_MOVED; moved++) {
		if (!v8_word(h, *object, 0, &map)) {
			return false;
		}
		if ((map & 3) != 0) {
			uint16_t found;
			bool ok = v8_is_object(map) &&
					v8_bytes(h, part_of(map, h->layout->map_type), &found, sizeof found);
			*type = ok ? found : 0;
			return ok;
		}
		*object = map | 1;
	}
	return false;
}

bool v8_is_type(struct v8_heap *h, uint64_t *object, int32_t type) {
	int32_t is;
	return v8_type(h, object, &is) && is == type;
}

// ---- strings

/** One step towards the characters: into `*string` and `*from`, or `out` and true. */
static bool string_step(struct v8_heap *h, uint64_t *string, int32_t type, uint32_t *from,
		struct v8_chars *out) {
	const struct v8_layout *l = h->layout;
	int32_t form = type & l->string_form_mask;
	out->width = (type & l->string_width_mask) == l->string_is_one_byte ? 1 : 2;
	if (form == l->string_is_sequential) {
		out->at = part_of(*string, out->width == 1 ? l->string_chars : l->string_two_byte_chars);
		return true;
	}
	if (form == l->string_is_external) {
		return v8_word(h, *string, l->string_resource + l->external_data, &out->at);
	}
	uint64_t next = 0;
	int32_t offset;
	if (form == l->string_is_thin) {
		(void)v8_word(h, *string, l->string_actual, &next);
	} else if (form == l->string_is_sliced) {
		if (v8_number(h, *string, l->string_offset, &offset) && offset >= 0) {
			*from += (uint32_t)offset;
			(void)v8_word(h, *string, l->string_parent, &next);
		}
	} else if (form == l->string_is_cons) { // flat if its second half is empty
		uint64_t second;
		if (v8_word(h, *string, l->string_second, &second) &&
				v8_int(h, second, l->string_length, &offset) && offset == 0) {
			(void)v8_word(h, *string, l->string_first, &next);
		}
	}
	*string = next;
	return false;
}

bool v8_string_chars(struct v8_heap *h, uint64_t string, struct v8_chars *out) {
	uint32_t from = 0;
	int32_t type, n = -1, of_all;
	for (int i = 0; i < MAX_INDIRECT && v8_is_object(string); i++) {
		if (!v8_type(h, &string, &type) || type >= h->layout->type_first_nonstring ||
				!v8_int(h, string, h->layout->string_length, &of_all) || of_all < 0) {
			return false;
		}
		n = n < 0 ? of_all : n;
		if (string_step(h, &string, type, &from, out)) {
			out->n = (uint32_t)n;
			bool is_within = from <= (uint32_t)of_all && out->n <= (uint32_t)of_all - from;
			out->at += (uint64_t)from * out->width;
			return is_within;
		}
	}
	return false;
}

bool v8_char(struct v8_heap *h, const struct v8_chars *c, struct v8_window *w, uint32_t index,
		uint32_t *out) {
	if (index >= c->n) {
		return false;
	}
	if (index - w->first >= w->n) { // one before the window is behind it, too
		uint32_t fits = sizeof w->bytes / c->width;
		w->first = index / fits * fits;
		w->n = c->n - w->first < fits ? c->n - w->first : fits;
		if (!v8_bytes(h, c->at + (uint64_t)w->first * c->width, w->bytes, w->n * c->width)) {
			w->n = 0;
			return false;
		}
	}
	size_t at = (size_t)(index - w->first) * c->width;
	*out = c->width == 1 ? w->bytes[at] : w->bytes[at] | (uint32_t)w->bytes[at + 1] << 8;
	return true;
}

static bool put_chars(struct v8_heap *h, const struct v8_chars *chars, size_t max,
		struct buffer *out) {
	struct v8_window w = {0};
	for (uint32_t i = 0, c, low; i < chars->n && out->size < max; i++) {
		if (!v8_char(h, chars, &w, i, &c)) {
			return false;
		}
		if (c >> 11 == 0x1b) { // half of a pair, or one alone
			bool is_pair = c < 0xdc00 && i + 1 < chars->n && v8_char(h, chars, &w, i + 1, &low) &&
					low >> 10 == 0x37;
			c = is_pair ? 0x10000 + ((c & 0x3ff) << 10) + (low & 0x3ff) : 0xfffd;
			i += is_pair;
		}
		buffer_utf8(out, c);
	}
	return true;
}

bool v8_string(struct v8_heap *h, uint64_t string, size_t max, struct buffer *out) {
	uint64_t pieces[MAX_PIECES] = {string};
	for (size_t n = 1; n > 0 && out->size < max;) {
		uint64_t piece = pieces[--n];
		struct v8_chars chars;
		int32_t type;
		if (v8_string_chars(h, piece, &chars)) {
			if (!put_chars(h, &chars, max, out)) {
				return false;
			}
		} else if (n + 2 <= MAX_PIECES && v8_type(h, &piece, &type) &&
				type < h->layout->type_first_nonstring &&
				(type & h->layout->string_form_mask) == h->layout->string_is_cons &&
				v8_word(h, piece, h->layout->string_second, &pieces[n]) &&
				v8_word(h, piece, h->layout->string_first, &pieces[n + 1])) {
			n += 2;
		} else {
			return false;
		}
	}
	return !out->failed;
}
