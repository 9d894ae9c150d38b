// SPDX-License-Identifier: MIT
#pragma once
/** Bytes with their length: comparing, hashing, reading and appending them. */

#include "base/attr.h"

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

/** Bytes with their length, borrowed. Text in a slice is not NUL-terminated. */
struct slice {
	const uint8_t *data;
	size_t size;
};

/** Bytes of another process's memory. */
struct extent {
	uint64_t address, bytes;
};

static inline struct slice slice_of(const void *data, size_t size) {
	return (struct slice){data, size};
}

/** The rest after the first `n` bytes. */
static inline struct slice slice_from(struct slice s, size_t n) {
	return slice_of(n > 0 ? s.data + n : s.data, s.size - n); // NULL + 0 is undefined
}

static inline struct slice slice_of_text(const char *text) {
	return (struct slice){(const uint8_t *)text, strlen(text)};
}

static inline bool slice_equal(struct slice a, struct slice b) {
	return a.size == b.size && (a.size == 0 || memcmp(a.data, b.data, a.size) == 0);
}

static inline bool slice_is(struct slice s, const char *text) {
	return slice_equal(s, slice_of_text(text));
}

/** For sorting: by bytes, a prefix first. */
static inline int slice_compare(struct slice a, struct slice b) {
	size_t n = a.size < b.size ? a.size : b.size;
	return (n ? memcmp(a.data, b.data, n) : 0) ?: (a.size > b.size) - (a.size < b.size);
}

enum { SLICE_HASH = 0 }; // the initial hash

/**
 * FNV-1a by words, all bits mixed at the end. `before`: SLICE_HASH, or the hash of what precedes.
 */
static inline uint64_t slice_hash(uint64_t before, struct slice s) {
	uint64_t h = before ^ 0xcbf29ce484222325u;
	size_t at = 0;
	for (uint64_t word; at + sizeof word <= s.size; at += sizeof word) {
		memcpy(&word, s.data + at, sizeof word);
		h = (h ^ word) * 0x9e3779b97f4a7c15u;
		h ^= h >> 29;
	}
	for (; at < s.size; at++) {
		h = (h ^ s.data[at]) * 0x100000001b3u;
	}
	h = (h ^ h >> 32 ^ s.size) * 0x9e3779b97f4a7c15u;
	return h ^ h >> 32;
}

/** For printf's "%.*s". */
#define SLICE_ARG(s) (int)(s).size, (const char *)(s).data

// ---- a bounded reader over bytes with a sticky error
//
// After reading past the end or a malformed number, `failed` is set and all further reads return
// zero or nothing. So decoders check `failed` once, but must compare every count with cursor_left()
// before looping.

struct cursor {
	const uint8_t *at;
	const uint8_t *end;
	bool failed;
};

static inline struct cursor cursor_init(struct slice s) {
	return (struct cursor){s.data, s.size ? s.data + s.size : s.data, false}; // data may be NULL
}

static inline size_t cursor_left(const struct cursor *c) {
	return (size_t)(c->end - c->at);
}

/** The next `n` bytes, borrowed from the source; empty if there are fewer. */
struct slice cursor_bytes(struct cursor *c, uint64_t n);

struct slice cursor_rest(struct cursor *c);

/** Little endian; the first: of all bytes of a slice. */
uint64_t little_endian(struct slice s);
uint8_t cursor_u8(struct cursor *c);
uint32_t cursor_u32(struct cursor *c);
uint64_t cursor_u64(struct cursor *c);

/** LEB128, at most 10 bytes. */
uint64_t cursor_varint(struct cursor *c);

/** A varint length, then that many bytes, borrowed. */
struct slice cursor_sized(struct cursor *c);

// ---- a growing byte buffer with a sticky error
//
// If memory runs out, `failed` is set and further writes do nothing, so encoders check once at the
// end. Zeroed: empty.

struct buffer {
	uint8_t *data;
	size_t size;
	size_t capacity;
	bool failed;
};

void buffer_bytes(struct buffer *b, const void *data, size_t n);
void buffer_slice(struct buffer *b, struct slice s);
void buffer_text(struct buffer *b, const char *text);
void buffer_printf(struct buffer *b, const char *fmt, ...) ATTR_PRINTF(2, 3);
void buffer_u8(struct buffer *b, uint8_t v);
void buffer_utf8(struct buffer *b, uint32_t c); // a code point, below 0x110000
void buffer_u32(struct buffer *b, uint32_t v);  // little endian, as the next
void buffer_u64(struct buffer *b, uint64_t v);
void buffer_varint(struct buffer *b, uint64_t v);
void buffer_signed(struct buffer *b, int64_t v);     // zigzag
void buffer_sized(struct buffer *b, struct slice s); // varint length, then the bytes

/** A text truncated to `size` - 1 bytes, which lives until the end of the block. */
#define FORMAT(size, ...) format_text((char[size]){0}, (size), __VA_ARGS__)
const char *format_text(char *out, size_t size, const char *fmt, ...) ATTR_PRINTF(3, 4);

/** In a function with fmt and "...": as snprintf. */
#define FORMAT_ARGS(out, size, fmt)                      \
	({                                                   \
		va_list args_;                                   \
		va_start(args_, fmt);                            \
		int n_ = vsnprintf((out), (size), (fmt), args_); \
		va_end(args_);                                   \
		n_;                                              \
	})

enum { VARINT_MAX = 10 }; // bytes

/** LEB128 at `at`, which has room for VARINT_MAX bytes. Returns the end. */
static inline uint8_t *put_varint(uint8_t *at, uint64_t v) {
	while (v >= 0x80) {
		*at++ = (uint8_t)(v | 0x80);
		v >>= 7;
	}
	*at++ = (uint8_t)v;
	return at;
}

/** The same for a code point below 0x110000, as UTF-8 of at most 4 bytes. */
uint8_t *put_utf8(uint8_t *at, uint32_t c);

/** Room for n more bytes, to be written at data + size; NULL: failed. */
uint8_t *buffer_room(struct buffer *b, size_t n);

static inline struct slice buffer_view(const struct buffer *b) {
	return (struct slice){b->data, b->size};
}

/** Empty it, but keep its memory. */
static inline void buffer_clear(struct buffer *b) {
	b->size = 0;
	b->failed = false;
}

void buffer_finish(struct buffer *b);
