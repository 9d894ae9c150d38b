// SPDX-License-Identifier: MIT
/* Grows by doubling; large buffers get large pages. */
#include "base/arena.h"
#include "base/err.h"

uint8_t *buffer_room(struct buffer *b, size_t n) {
	if (b->failed) {
		return NULL;
	}
	if (b->data && n <= b->capacity - b->size) {
		return b->data + b->size;
	}
	size_t want = b->capacity ? b->capacity * 2 : 256;
	bool is_too_much = (want < b->size || want - b->size < n) &&
			__builtin_add_overflow(b->size, n, &want);
	uint8_t *data = is_too_much ? NULL : realloc(b->data, want);
	if (!data) {
		b->failed = true;
		return memory_lacks();
	}
	large_pages_prefer(data, want);
	b->data = data;
	b->capacity = want;
	return data + b->size;
}

void buffer_bytes(struct buffer *b, const void *data, size_t n) {
	uint8_t *at = n ? buffer_room(b, n) : NULL;
	if (at) {
		memcpy(at, data, n);
		b->size += n;
	}
}

void buffer_slice(struct buffer *b, struct slice s) {
	buffer_bytes(b, s.data, s.size);
}

void buffer_text(struct buffer *b, const char *text) {
	buffer_bytes(b, text, strlen(text));
}

void buffer_printf(struct buffer *b, const char *fmt, ...) {
	int n = FORMAT_ARGS(NULL, 0, fmt);
	// vsnprintf adds a NUL, which needs room but does not count
	uint8_t *at = n < 0 ? NULL : buffer_room(b, (size_t)n + 1);
	if (at) {
		(void)FORMAT_ARGS((char *)at, (size_t)n + 1, fmt);
		b->size += (size_t)n;
	}
}

const char *format_text(char *out, size_t size, const char *fmt, ...) {
	(void)FORMAT_ARGS(out, size, fmt);
	return out;
}

void buffer_u8(struct buffer *b, uint8_t v) {
	buffer_bytes(b, &v, 1);
}

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "numbers are as they lie in memory");

void buffer_u32(struct buffer *b, uint32_t v) {
	buffer_bytes(b, &v, sizeof v);
}

void buffer_u64(struct buffer *b, uint64_t v) {
	buffer_bytes(b, &v, sizeof v);
}

void buffer_varint(struct buffer *b, uint64_t v) {
	uint8_t *at = buffer_room(b, VARINT_MAX);
	b->size = at ? (size_t)(put_varint(at, v) - b->data) : b->size;
}

void buffer_signed(struct buffer *b, int64_t v) {
	buffer_varint(b, (uint64_t)v << 1 ^ (uint64_t)(v >> 63));
}

uint8_t *put_utf8(uint8_t *at, uint32_t c) {
	static const uint8_t leads[] = {0, 0xc0, 0xe0, 0xf0};
	unsigned n_more = c < 0x80 ? 0 : c < 0x800 ? 1 : c < 0x10000 ? 2 : 3;
	*at++ = (uint8_t)(leads[n_more] | c >> 6 * n_more);
	while (n_more-- > 0) {
		*at++ = (uint8_t)(0x80 | (c >> 6 * n_more & 63));
	}
	return at;
}

void buffer_utf8(struct buffer *b, uint32_t c) {
	uint8_t *room = buffer_room(b, 4);
	b->size += room ? (size_t)(put_utf8(room, c) - room) : 0;
}

void buffer_sized(struct buffer *b, struct slice s) {
	buffer_varint(b, s.size);
	buffer_slice(b, s);
}

void buffer_finish(struct buffer *b) {
	if (b) {
		free(b->data);
		*b = (struct buffer){0};
	}
}
