// SPDX-License-Identifier: MIT
#pragma once
/** Texts, numbers and paths. Functions named take_ remove what they read if they return true. */

#include "base/arena.h"

/** The part before the first `c`, or everything. */
static inline struct slice before_first(struct slice s, char c) {
	const uint8_t *at = s.size ? memchr(s.data, c, s.size) : NULL;
	return slice_of(s.data, at ? (size_t)(at - s.data) : s.size);
}

/** Take the part before the first `c`, and the `c`. False: empty. */
static inline bool take_part(struct slice *rest, char c, struct slice *part) {
	if (rest->size == 0) {
		return false;
	}
	*part = before_first(*rest, c);
	size_t n = part->size + (part->size < rest->size);
	*rest = slice_from(*rest, n);
	return true;
}

/** Take the first line, without its end ("\n" or "\r\n"). False: empty. */
static inline bool next_line(struct slice *rest, struct slice *line) {
	bool is_there = take_part(rest, '\n', line);
	line->size -= is_there && line->size && line->data[line->size - 1] == '\r';
	return is_there;
}

static inline struct slice skip_spaces(struct slice s) {
	while (s.size && (*s.data == ' ' || *s.data == '\t')) {
		s = slice_from(s, 1);
	}
	return s;
}

static inline bool begins_with(struct slice s, struct slice prefix) {
	return s.size >= prefix.size && slice_equal(slice_of(s.data, prefix.size), prefix);
}

static inline bool starts_with(struct slice s, const char *prefix) {
	return begins_with(s, slice_of_text(prefix));
}

/** Is it `name`, maybe followed by a version or another word: "python3.11", "node_debug"? */
static inline bool is_called_after(struct slice s, const char *name) {
	size_t n = strlen(name);
	return starts_with(s, name) && (s.size == n || strchr("0123456789._-", s.data[n]));
}

/**
 * A list of texts is one text, with a '|' before each: "|one|another". An array's pointers would
 * take more room than the texts. False: no more.
 */
static inline bool next_text(const char **list, struct slice *text) {
	if (!**list) {
		return false;
	}
	const char *begin = *list + 1;
	*list = strchrnul(begin, '|');
	*text = slice_of(begin, (size_t)(*list - begin));
	return true;
}

/** Is it one of a list, or does it start with one? */
bool is_any(struct slice s, const char *list);
bool starts_with_any(struct slice s, const char *list);

/** Take the first of a list that is a prefix. */
bool take_any(struct slice *s, const char *list);

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
	*s = *prefix ? slice_from(*s, strlen(prefix)) : *s;
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

/** Write `n` bytes as 2 * `n` digits and a NUL. */
static inline void put_hexadecimal(char *out, const uint8_t *bytes, size_t n) {
	for (size_t i = 0; i < 2 * n; i++) {
		out[i] = "0123456789abcdef"[bytes[i / 2] >> (i % 2 ? 0 : 4) & 15];
	}
	out[2 * n] = '\0';
}

/** Take a number after spaces. False: none, or too large. */
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
	*s = slice_from(at, n);
	return n > 0;
}

/** The same in hexadecimal, with or without "0x"; stops before it would overflow. */
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
	*s = slice_from(at, n);
	return n > 0;
}

/** Update the depth of brackets for the byte at `i`. The ">" of "fn() -> T" is not one. */
void step_brackets(struct slice s, size_t i, size_t *depth);

/** The position of the first of these bytes outside of all brackets, or the size. */
size_t find_outside_brackets(struct slice s, const char *bytes);

/** "a::B<c::D>::e<f>": after the last "::" outside of brackets, or 0. */
size_t last_part_at(struct slice s);

/** Take ":12" off the end, as in places in code. False: none. */
static inline bool take_last_number(struct slice *s, uint32_t *out) {
	const uint8_t *colon = s->size ? memrchr(s->data, ':', s->size) : NULL;
	size_t n = colon ? (size_t)(colon - s->data) : 0;
	struct slice digits = colon ? slice_from(*s, n + 1) : slice_of(NULL, 0);
	uint64_t number;
	if (!take_decimal(&digits, &number) || digits.size > 0 || number > UINT32_MAX) {
		return false;
	}
	s->size = n;
	*out = (uint32_t)number;
	return true;
}

/** Take "1", "2.5", "2.", in any locale. False: none, or longer than 19 bytes. */
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
	*s = slice_from(*s, n);
	return n > 0 && n < 20;
}

/**
 * Does `s` contain the parts between the stars of a pattern, in this order? `at_start`, `at_end`:
 * the first or last part must be at that end.
 */
static inline bool has_parts(struct slice s, struct slice pattern, bool at_start, bool at_end) {
	for (;; at_start = false) {
		struct slice part = before_first(pattern, '*');
		bool is_last = part.size == pattern.size;
		size_t left = s.size - part.size;
		if (part.size > s.size) {
			return false;
		}
		size_t at = is_last && at_end && !at_start ? left : 0;
		if (part.size && !at_start && !(is_last && at_end)) {
			const uint8_t *found = memmem(s.data, s.size, part.data, part.size);
			at = found ? (size_t)(found - s.data) : 0;
		}
		if (part.size && !slice_equal(slice_of(s.data + at, part.size), part)) {
			return false;
		}
		if (is_last) {
			return !at_end || at == left;
		}
		s = part.size ? slice_of(s.data + at + part.size, left - at) : s;
		pattern = slice_of(pattern.data + part.size + 1, pattern.size - part.size - 1);
	}
}

// ---- numbers formatted for people
//
// Decimal units (1 kB = 1000 bytes), as in KDE's tools. Texts fit into HUMAN_MAX bytes, with the
// NUL. No locale. Functions return `out`, so that calls can be arguments; the macros use room of
// their own, which lives until the end of the block.

enum { HUMAN_MAX = 32 };

/** "0 B", "320 B", "5.1 kB", "38.5 MB", "1.2 GB". */
char *human_bytes(char out[HUMAN_MAX], uint64_t bytes);

/** For table columns: "320", "5.1K", "38.5M", "1.2G". */
char *human_compact(char out[HUMAN_MAX], uint64_t bytes);

/** "118,943". */
char *human_count(char out[HUMAN_MAX], uint64_t n);

/** "0.8 ms", "412 ms", "5.19 s", "3 min 07 s", "2 h 05 min", "3 d 04 h". */
char *human_duration(char out[HUMAN_MAX], uint64_t ns);

/** The same for a length of time, as exact as event times are: "less than 1 ms". */
char *human_span(char out[HUMAN_MAX], uint64_t ns);

/** For table columns, without the sign: "<1" and "99" ("<0.1" and "99.9") if not none, not all. */
char *human_share(char out[HUMAN_MAX], uint64_t part, uint64_t whole, int decimals);

/** "85 %", "0.4 %" below ten, "< 0.1 %"; "0 %" only for none; "100 %" only for all. */
char *human_percent(char out[HUMAN_MAX], uint64_t part, uint64_t whole);

/** As KDE's heaptrack_print: "0B", "60B", "81.98K", "4.20M" (divides while above 1000). */
char *human_classic(char out[HUMAN_MAX], uint64_t bytes);

#define HUMAN_ROOM ((char[HUMAN_MAX]){0})

#define HUMAN_BYTES(bytes)                 human_bytes(HUMAN_ROOM, bytes)
#define HUMAN_COMPACT(bytes)               human_compact(HUMAN_ROOM, bytes)
#define HUMAN_COUNT(n)                     human_count(HUMAN_ROOM, n)
#define HUMAN_DURATION(ns)                 human_duration(HUMAN_ROOM, ns)
#define HUMAN_SPAN(ns)                     human_span(HUMAN_ROOM, ns)
#define HUMAN_PERCENT(part, whole)         human_percent(HUMAN_ROOM, part, whole)
#define HUMAN_SHARE(part, whole, decimals) human_share(HUMAN_ROOM, part, whole, decimals)
#define HUMAN_CLASSIC(bytes)               human_classic(HUMAN_ROOM, bytes)

/** "1 block", "118,943 blocks". */
#define COUNTED(n, what) \
	FORMAT(2 * HUMAN_MAX, "%s %s%s", HUMAN_COUNT(n), (what), (n) == 1 ? "" : "s")

// ---- paths as text, without the file system

/** "/a/b//../c" becomes "/a/c"; links are not followed. */
const char *path_normal(const char *path, struct arena *arena);

/** What follows the last slash: "b.c" of "/a/b.c". */
struct slice path_base(struct slice path);
const char *path_base_name(const char *path);

// ---- what a mistyped word probably meant

struct nearest {
	struct slice word;
	const char *name; // NULL: none is close
	unsigned least;
};

struct nearest nearest_init(struct slice word);

/** Try a name. Of equally close ones, the first is kept. */
void nearest_try(struct nearest *n, const char *name);

/** The Nim module in "newSeq__system_208": "system"; or empty. */
struct slice nim_module_of(struct slice symbol);
