// SPDX-License-Identifier: MIT
#pragma once

/** Reads text line by line and word by word. */

#include "base/slice.h"

/** The next line without its end; false behind the last. */
static inline bool next_line(struct slice *rest, struct slice *line) {
	if (rest->size == 0) {
		return false;
	}
	const uint8_t *end = memchr(rest->data, '\n', rest->size);
	size_t n = end ? (size_t)(end - rest->data) : rest->size;
	size_t skip = n + (end != NULL);
	*line = slice_of(rest->data, n && rest->data[n - 1] == '\r' ? n - 1 : n);
	*rest = slice_of(rest->data + skip, rest->size - skip);
	return true;
}

static inline struct slice skip_spaces(struct slice s) {
	while (s.size && (*s.data == ' ' || *s.data == '\t')) {
		s = slice_of(s.data + 1, s.size - 1);
	}
	return s;
}

static inline bool starts_with(struct slice s, const char *text) {
	size_t n = strlen(text);
	return s.size >= n && memcmp(s.data, text, n) == 0;
}

/** Take a text off the front if it stands there. */
static inline bool take_prefix(struct slice *s, const char *text) {
	if (!starts_with(*s, text)) {
		return false;
	}
	*s = slice_of(s->data + strlen(text), s->size - strlen(text));
	return true;
}

/** Take a number off the front, behind spaces; false: there is none, or it has over 64 bits. */
static inline bool take_decimal(struct slice *s, uint64_t *out) {
	struct slice at = skip_spaces(*s);
	size_t n = 0;
	*out = 0;
	for (; n < at.size && at.data[n] >= '0' && at.data[n] <= '9'; n++) {
		if (__builtin_mul_overflow(*out, 10u, out) ||
				__builtin_add_overflow(*out, (uint64_t)(at.data[n] - '0'), out)) {
			return false;
		}
	}
	*s = slice_of(at.data + n, at.size - n);
	return n > 0;
}

/** The same, hexadecimal, with or without 0x. */
static inline bool take_hexadecimal(struct slice *s, uint64_t *out) {
	struct slice at = skip_spaces(*s);
	(void)take_prefix(&at, "0x");
	size_t n = 0;
	*out = 0;
	for (; n < at.size; n++) {
		uint8_t c = at.data[n], letter = c | 0x20;
		unsigned digit = 16;
		if (c >= '0' && c <= '9') {
			digit = c - '0';
		} else if (letter >= 'a' && letter <= 'f') {
			digit = letter - 'a' + 10;
		}
		if (digit == 16 || *out >> 60) {
			break;
		}
		*out = *out << 4 | digit;
	}
	*s = slice_of(at.data + n, at.size - n);
	return n > 0;
}
