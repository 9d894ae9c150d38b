// SPDX-License-Identifier: MIT
/* Escapes the characters that a terminal would act on. */
#include "base/visible.h"

#include "base/text.h"

#include <ctype.h>

/** Control characters, changes of direction, and line separators. */
static bool is_obeyed(uint32_t c) {
	return c < 0x20 || (c >= 0x7f && c < 0xa0) || c == 0x61c || c == 0x200e || c == 0x200f ||
			(c >= 0x2028 && c <= 0x202e) || (c >= 0x2066 && c <= 0x2069);
}

/** The length of the unescaped part from `at`; *bad bytes must be escaped then (0: end of text). */
static size_t plain_length(struct slice text, size_t at, bool keeps_lines, size_t *bad) {
	size_t start = at;
	for (*bad = 0; at < text.size;) {
		uint8_t c = text.data[at];
		if ((c >= 0x20 && c < 0x7f) || (c == '\n' && keeps_lines)) {
			at++;
			continue;
		}
		struct slice rest = slice_from(text, at);
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

/** The length of the next word; a number and its unit, "548.4 kB/s" or "12 %", count as one. */
static size_t word_length(const char *text) {
	static const char units[] = "|B|kB|MB|GB|TB|ms|s|min|h|d|%";
	size_t n = strcspn(text, " ");
	if (n > 0 && text[n] && isdigit((uint8_t)text[n - 1])) {
		const char *next = text + n + 1;
		bool is_unit = is_any(slice_of(next, strcspn(next, " /,.;:)")), units);
		n += is_unit ? 1 + strcspn(next, " ") : 0;
	}
	return n;
}

void visible_wrap(struct buffer *out, const char *first, size_t indent, const char *text,
		size_t width) {
	buffer_text(out, first);
	size_t column = utf8_columns(slice_of_text(first));
	bool is_line_start = true;
	while (*text) {
		const size_t n = word_length(text);
		struct slice word = slice_of(text, n);
		if (!is_line_start && column + 1 + utf8_columns(word) > width) {
			buffer_printf(out, "\n%*s", (int)indent, "");
			column = indent;
			is_line_start = true;
		}
		if (!is_line_start) {
			buffer_u8(out, ' ');
			column++;
		}
		visible_put(out, word);
		column += utf8_columns(word);
		is_line_start = false;
		text += n + (text[n] == ' ');
	}
	buffer_u8(out, '\n');
}

void markup_put(struct buffer *out, struct slice text) {
	for (size_t i = 0; i < text.size; i++) {
		uint8_t c = text.data[i];
		switch (c) {
		case '&': buffer_text(out, "&amp;"); break;
		case '<': buffer_text(out, "&lt;"); break;
		case '>': buffer_text(out, "&gt;"); break;
		case '"': buffer_text(out, "&quot;"); break;
		default: buffer_u8(out, c < ' ' && c != '\n' && c != '\t' ? ' ' : c);
		}
	}
}
