// SPDX-License-Identifier: MIT
/* Replaces the characters that a terminal would obey by escapes. */
#include "base/visible.h"

/** Turns of direction, and ends of lines that are no '\n'. */
static bool is_obeyed(uint32_t c) {
	return c < 0x20 || (c >= 0x7f && c < 0xa0) || c == 0x61c || c == 0x200e || c == 0x200f ||
			(c >= 0x2028 && c <= 0x202e) || (c >= 0x2066 && c <= 0x2069);
}

/** How many bytes from `at` on stay as they are; then *bad bytes (0: the text's end) do not. */
static size_t plain_length(struct slice text, size_t at, bool keeps_lines, size_t *bad) {
	size_t start = at;
	for (*bad = 0; at < text.size;) {
		uint8_t c = text.data[at];
		if ((c >= 0x20 && c < 0x7f) || (c == '\n' && keeps_lines)) {
			at++;
			continue;
		}
		struct slice rest = slice_of(text.data + at, text.size - at);
		size_t n = utf8_length(rest);
		if (n == 0 || is_obeyed(utf8_character(rest.data, n))) {
			*bad = n ? n : 1;
			break;
		}
		at += n;
	}
	return at - start;
}

static void put_escape(struct buffer *out, const uint8_t *s, size_t n) {
	uint32_t c = n > 1 || s[0] < 0x80 ? utf8_character(s, n) : 0;
	if (c == '\n' || c == '\r' || c == '\t') {
		buffer_text(out, c == '\n' ? "\\n" : c == '\r' ? "\\r" : "\\t");
	} else if (n == 1) {
		buffer_printf(out, "\\x%02x", s[0]);
	} else {
		buffer_printf(out, "\\u%04x", (unsigned)c);
	}
}

static void put(struct buffer *out, struct slice text, bool keeps_lines) {
	for (size_t at = 0; at < text.size;) {
		size_t bad;
		size_t n = plain_length(text, at, keeps_lines, &bad);
		buffer_bytes(out, text.data + at, n);
		at += n;
		if (bad) {
			put_escape(out, text.data + at, bad);
			at += bad;
		}
	}
}

bool visible_differs(struct slice text) {
	size_t bad;
	(void)plain_length(text, 0, false, &bad);
	return bad != 0;
}

void visible_put(struct buffer *out, struct slice text) {
	put(out, text, false);
}

void visible_put_lines(struct buffer *out, struct slice text) {
	put(out, text, true);
}

const char *visible_name(char *out, size_t size, const char *name) {
	SCOPED(buffer) text = {0};
	visible_put(&text, slice_of_text(name));
	size_t n = text.size < size ? text.size : size - 1;
	if (n) {
		memcpy(out, text.data, n);
	}
	out[n] = '\0';
	return out;
}
