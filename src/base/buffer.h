// SPDX-License-Identifier: MIT
#pragma once
/**
 * A growing byte buffer with a sticky error: if memory runs out, `failed` is set and further writes
 * do nothing, so encoders check once at the end. A zeroed struct is a valid, empty buffer.
 */

#include "base/slice.h"

#include <stdarg.h>
#include <stdio.h>

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
void buffer_u32(struct buffer *b, uint32_t v); // little endian, as are all
void buffer_u64(struct buffer *b, uint64_t v);
void buffer_varint(struct buffer *b, uint64_t v);
void buffer_signed(struct buffer *b, int64_t v);     // zigzag
void buffer_sized(struct buffer *b, struct slice s); // varint length, then the bytes

/** A text of less than `size` bytes, or as much of it as fits; it lasts as long as its block. */
#define FORMAT(size, ...) format_text((char[size]){0}, (size), __VA_ARGS__)
const char *format_text(char *out, size_t size, const char *fmt, ...) ATTR_PRINTF(3, 4);

/** In a function of fmt and "...": put the text there, as snprintf does; its whole length. */
#define FORMAT_ARGS(out, size, fmt)                      \
	({                                                   \
		va_list args_;                                   \
		va_start(args_, fmt);                            \
		int n_ = vsnprintf((out), (size), (fmt), args_); \
		va_end(args_);                                   \
		n_;                                              \
	})

enum { VARINT_MAX = 10 }; // bytes

/** LEB128, at a place with room for VARINT_MAX bytes. Gives the place behind it. */
static inline uint8_t *put_varint(uint8_t *at, uint64_t v) {
	while (v >= 0x80) {
		*at++ = (uint8_t)(v | 0x80);
		v >>= 7;
	}
	*at++ = (uint8_t)v;
	return at;
}

/** Room for n more bytes to be written by the caller at data + size, or NULL (failed is set). */
uint8_t *buffer_room(struct buffer *b, size_t n);

static inline struct slice buffer_view(const struct buffer *b) {
	return (struct slice){b->data, b->size};
}

/** Empty it, keep the memory. */
static inline void buffer_clear(struct buffer *b) {
	b->size = 0;
	b->failed = false;
}

void buffer_finish(struct buffer *b);
