// SPDX-License-Identifier: MIT
#pragma once

/**
 * Takes lines, prefixes and numbers off the front of a text.
 *
 * The functions named take_ remove what they read from the slice if they return true.
 */

#include "base/slice.h"

/** Take the first line off, without its end ("\n" or "\r\n"). False: the slice is empty. */
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

static inline bool starts_with(struct slice s, const char *prefix) {
	size_t n = strlen(prefix);
	return n == 0 || (s.size >= n && memcmp(s.data, prefix, n) == 0);
}

static inline bool starts_with_any(struct slice s, const char *const *prefixes, size_t n) {
	for (size_t i = 0; i < n; i++) {
		if (starts_with(s, prefixes[i])) {
			return true;
		}
	}
	return false;
}
/** The same of an array of texts. */
#define STARTS_WITH_ANY(s, texts) starts_with_any((s), (texts), sizeof(texts) / sizeof *(texts))

/** Is it one of an array of texts? */
#define IS_ANY(s, texts) is_any((s), (texts), sizeof(texts) / sizeof *(texts))

static inline bool is_any(struct slice s, const char *const *texts, size_t n) {
	for (size_t i = 0; i < n; i++) {
		if (slice_equal(s, slice_of_text(texts[i]))) {
			return true;
		}
	}
	return false;
}

static inline bool ends_with(struct slice s, const char *end) {
	size_t n = strlen(end);
	return n == 0 || (s.size >= n && memcmp(s.data + s.size - n, end, n) == 0);
}

static inline bool contains(struct slice s, const char *part) {
	return s.size > 0 && memmem(s.data, s.size, part, strlen(part)) != NULL;
}

/** Without spaces and tabs at either end. */
static inline struct slice trimmed(struct slice s) {
	s = skip_spaces(s);
	while (s.size && strchr(" \t\r", s.data[s.size - 1])) {
		s.size--;
	}
	return s;
}

static inline bool take_prefix(struct slice *s, const char *prefix) {
	if (!starts_with(*s, prefix)) {
		return false;
	}
	*s = *prefix ? slice_of(s->data + strlen(prefix), s->size - strlen(prefix)) : *s;
	return true;
}

static inline bool is_digit(uint8_t c) {
	return c >= '0' && c <= '9';
}

/** The value of a hexadecimal digit, or -1. */
static inline int hex_digit(uint8_t c) {
	return is_digit(c)                               ? c - '0'
			: (c | 0x20) >= 'a' && (c | 0x20) <= 'f' ? (c | 0x20) - 'a' + 10
													 : -1;
}

/** A number, after spaces. False: there is none, or it does not fit. */
static inline bool take_decimal(struct slice *s, uint64_t *out) {
	struct slice at = skip_spaces(*s);
	size_t n = 0;
	*out = 0;
	for (; n < at.size && is_digit(at.data[n]); n++) {
		if (__builtin_mul_overflow(*out, 10u, out) ||
				__builtin_add_overflow(*out, (uint64_t)(at.data[n] - '0'), out)) {
			return false;
		}
	}
	*s = slice_of(at.data + n, at.size - n);
	return n > 0;
}

/** The same in hexadecimal, with or without "0x"; it ends where it would no longer fit. */
static inline bool take_hexadecimal(struct slice *s, uint64_t *out) {
	struct slice at = skip_spaces(*s);
	if (!take_prefix(&at, "0x")) {
		(void)take_prefix(&at, "0X");
	}
	size_t n = 0;
	*out = 0;
	for (int digit; n < at.size && (digit = hex_digit(at.data[n])) >= 0 && *out >> 60 == 0; n++) {
		*out = *out << 4 | (uint64_t)digit;
	}
	*s = slice_of(at.data + n, at.size - n);
	return n > 0;
}

/** "1", "2.5", "2.", whatever the locale. False: there is none, or it is longer than 19 bytes. */
static inline bool take_fraction(struct slice *s, double *out) {
	size_t n = 0;
	*out = 0;
	for (; n < s->size && is_digit(s->data[n]); n++) {
		*out = *out * 10 + (s->data[n] - '0');
	}
	if (n < s->size && s->data[n] == '.') {
		double place = 0.1;
		for (n++; n < s->size && is_digit(s->data[n]); n++, place /= 10) {
			*out += place * (s->data[n] - '0');
		}
	}
	*s = slice_of(s->data + n, s->size - n);
	return n > 0 && n < 20;
}
