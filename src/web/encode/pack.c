// SPDX-License-Identifier: MIT
/* Packs by libdeflate, and in base64. */
#include "web/encode/columns.h"

#include <libdeflate.h>

void pack_deflate(struct buffer *out, struct slice raw, int level) {
	struct libdeflate_compressor *c = libdeflate_alloc_compressor(level);
	size_t most = libdeflate_deflate_compress_bound(c, raw.size);
	uint8_t *room = c ? buffer_room(out, most) : memory_lacks();
	out->size += libdeflate_deflate_compress(c, raw.data, raw.size, room, most);
	libdeflate_free_compressor(c);
}

void pack_base64(struct buffer *out, struct slice raw) {
	static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	size_t n = (raw.size + 2) / 3 * 4;
	uint8_t *to = buffer_room(out, n);
	for (size_t i = 0; i < raw.size; i += 3, to += 4) {
		size_t left = raw.size - i;
		uint32_t v = (uint32_t)raw.data[i] << 16 | (left > 1 ? (uint32_t)raw.data[i + 1] << 8 : 0) |
				(left > 2 ? raw.data[i + 2] : 0);
		to[0] = (uint8_t)digits[v >> 18];
		to[1] = (uint8_t)digits[v >> 12 & 63];
		to[2] = left > 1 ? (uint8_t)digits[v >> 6 & 63] : '=';
		to[3] = left > 2 ? (uint8_t)digits[v & 63] : '=';
	}
	out->size += n;
}
