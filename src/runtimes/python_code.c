// SPDX-License-Identifier: MIT
/* Code objects: their names (PyUnicode) and lines (PEP 657), from bytes that may be anything. */
#include "runtimes/python.h"

// ---- excerpts

/** The next piece that the recorder copied. */
static struct slice next_piece(struct cursor *c) {
	uint32_t bytes = cursor_u32(c), room = cursor_u32(c);
	struct slice piece = cursor_bytes(c, room);
	return slice_of(piece.data, bytes < piece.size ? bytes : piece.size);
}

static uint64_t number_at(struct slice s, size_t at, size_t bytes) {
	uint64_t value = 0;
	if (at <= s.size && s.size - at >= bytes) {
		memcpy(&value, s.data + at, bytes);
	}
	return value;
}

// ---- text

/** The character at an index; lone surrogates and what is no character become U+FFFD. */
static uint32_t character_at(struct slice s, size_t width, size_t i) {
	enum { REPLACEMENT = 0xfffd };
	uint32_t c = (uint32_t)number_at(s, i * width, width);
	return c > 0x10ffff || (c >= 0xd800 && c < 0xe000) || c == 0 ? REPLACEMENT : c;
}

static bool read_text(struct slice object, const struct wire_layout *l, struct slice *out,
		struct arena *arena) {
	enum { STATE = 32, KIND_SHIFT = 2, COMPACT = 1 << 5, ASCII = 1 << 6 };
	uint64_t length = number_at(object, PYTHON_LENGTH, 8);
	uint32_t state = (uint32_t)number_at(object, STATE, 4);
	size_t width = state >> KIND_SHIFT & 7,
		   at = l->fields[state & ASCII ? PYTHON_TEXT : PYTHON_WIDE_TEXT];
	bool is_known = (state & COMPACT) && (width == 1 || width == 2 || width == 4);
	if (!is_known || object.size < at) {
		return false;
	}
	struct slice s = slice_of(object.data + at, object.size - at);
	size_t n = s.size / width < length ? s.size / width : (size_t)length;
	uint8_t *text = arena_new_unset(arena, uint8_t, n * 4 + 1), *end = text;
	for (size_t i = 0; i < n; i++) {
		end = put_utf8(end, character_at(s, width, i));
	}
	*out = slice_of(text, (size_t)(end - text));
	return out->size > 0;
}

bool python_decode(struct slice excerpt, const struct wire_layout *l, struct python_code *out,
		struct arena *arena) {
	struct cursor c = cursor_init(excerpt);
	struct slice code = next_piece(&c), name = next_piece(&c), file = next_piece(&c);
	struct slice lines = next_piece(&c);
	*out = (struct python_code){
			.first_line = (uint32_t)number_at(code, l->fields[PYTHON_FIRST_LINE], 4)};
	if (c.failed || !read_text(name, l, &out->name, arena) ||
			!read_text(file, l, &out->file, arena)) {
		return false;
	}
	uint64_t n = number_at(lines, PYTHON_LENGTH, 8);
	if (lines.size > PYTHON_BYTES_HEAD) {
		size_t there = lines.size - PYTHON_BYTES_HEAD;
		out->line_table = slice_of(lines.data + PYTHON_BYTES_HEAD, n < there ? (size_t)n : there);
	}
	return true;
}

// ---- lines

/** Six bits per byte, the low ones first. */
static uint32_t read_varint(struct cursor *c) {
	uint32_t value = 0;
	for (unsigned shift = 0;; shift += 6) {
		uint8_t byte = cursor_u8(c);
		value |= shift < 32 ? (uint32_t)(byte & 63) << shift : 0;
		if (!(byte & 64)) {
			return value;
		}
	}
}

static int32_t read_signed(struct cursor *c) {
	uint32_t value = read_varint(c);
	return value & 1 ? -(int32_t)(value >> 1) : (int32_t)(value >> 1);
}

/** An entry's line relative to the one before. `has_line`: it has one at all. */
static int32_t read_entry(struct cursor *c, unsigned kind, bool *has_line) {
	int32_t delta;
	*has_line = kind != 15;
	switch (kind) {
	case 10:
	case 11:
	case 12: (void)cursor_bytes(c, 2); return (int32_t)kind - 10;
	case 13: return read_signed(c);
	case 14:
		delta = read_signed(c);
		for (unsigned i = 0; i < 3; i++) { // last line, columns
			(void)read_varint(c);
		}
		return delta;
	case 15: return 0;
	default: (void)cursor_u8(c); return 0;
	}
}

uint32_t python_line(const struct python_code *code, uint32_t position) {
	struct cursor c = cursor_init(code->line_table);
	uint32_t at = 0, line = code->first_line;
	if (position == 0) {
		return code->first_line;
	}
	while (cursor_left(&c) > 0) {
		uint8_t byte = cursor_u8(&c);
		bool has_line;
		line += (uint32_t)read_entry(&c, byte >> 3 & 15, &has_line);
		at += (byte & 7u) + 1;
		if (c.failed || !(byte & 0x80)) {
			return 0;
		}
		if (position - 1 < at) {
			return has_line && line < INT32_MAX ? line : 0;
		}
	}
	return 0;
}
