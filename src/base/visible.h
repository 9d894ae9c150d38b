// SPDX-License-Identifier: MIT
#pragma once
/**
 * Untrusted text for a terminal. Names of functions and files can contain anything: terminal
 * control sequences, marks that change the direction of text, invalid UTF-8. These become escapes
 * such as \x1b, \n, \u202e and \xff; everything else is unchanged, including backslashes.
 */

#include "base/slice.h"

/** Would visible_put change this? */
bool visible_differs(struct slice text);

/** Append `text`, a name or a sentence; escapes line breaks and tabs, too. */
void visible_put(struct buffer *out, struct slice text);

/** Append `text`, our own lines with names in them; keeps '\n'. */
void visible_put_lines(struct buffer *out, struct slice text);

/** A name that lives until the end of the block; truncated to two of the longest paths. */
enum { VISIBLE_NAME_MAX = 2 * 4640 };
#define VISIBLE_NAME(name) visible_name((char[VISIBLE_NAME_MAX]){0}, VISIBLE_NAME_MAX, (name))

/** The same, truncated to `size` - 1 bytes. Returns `out`. */
const char *visible_name(char *out, size_t size, const char *name);

/**
 * Append a paragraph: `first` before the first line, `indent` spaces before the others. Breaks
 * lines at `width` columns, but not between a number and its unit.
 */
void visible_wrap(struct buffer *out, const char *first, size_t indent, const char *text,
		size_t width);

/**
 * Append `text` for HTML and XML, also in quotes. Control characters become spaces, but "\n\r\t".
 */
void markup_put(struct buffer *out, struct slice text);

// ---- UTF-8

static inline bool utf8_continues(uint8_t c) {
	return (c & 0xc0) == 0x80;
}

/** The length of the UTF-8 sequence at the start of `s` (not empty); 0: invalid (RFC 3629). */
static inline size_t utf8_length(struct slice s) {
	uint8_t a = s.data[0];
	size_t n = a < 0x80             ? 1
			: a >= 0xc2 && a < 0xe0 ? 2
			: (a & 0xf0) == 0xe0    ? 3
			: a >= 0xf0 && a < 0xf5 ? 4
									: 0;
	if (n == 0 || n > s.size || ANY(i, n - 1, !utf8_continues(s.data[i + 1]))) {
		return 0;
	}
	uint8_t b = n > 1 ? s.data[1] : 0;
	bool is_overlong = (a == 0xe0 && b < 0xa0) || (a == 0xf0 && b < 0x90);
	bool is_outside = (a == 0xed && b >= 0xa0) || (a == 0xf4 && b >= 0x90);
	return is_overlong || is_outside ? 0 : n;
}

/** The code point of a sequence of utf8_length() bytes. */
static inline uint32_t utf8_character(const uint8_t *s, size_t n) {
	uint32_t c = n == 1 ? s[0] : s[0] & (0x7fu >> n);
	for (size_t i = 1; i < n; i++) {
		c = c << 6 | (s[i] & 0x3f);
	}
	return c;
}

/** The columns that a text takes, one per character. */
static inline size_t utf8_columns(struct slice s) {
	return SUM(i, s.size, !utf8_continues(s.data[i]));
}
