// SPDX-License-Identifier: MIT
/* Packs by zlib's deflate, and in base64. */
#include "web/encode/columns.h"

#include <zlib.h>

enum { WINDOW = -15, MEMORY = 9 }; // a negative window: no header

bool pack_deflate(struct buffer *out, struct slice raw, int level, struct err *err) {
	z_stream z = {0};
	if (deflateInit2(&z, level, Z_DEFLATED, WINDOW, MEMORY, Z_DEFAULT_STRATEGY) != Z_OK) {
		return err_memory(err);
	}
	bool ok = raw.size <= UINT32_MAX && deflateBound(&z, raw.size) <= UINT32_MAX;
	if (!ok) {
		(void)err_set(err, ERR_LIMIT, "the profile is larger than 4 GB");
	}
	uint8_t *room = ok ? buffer_room(out, deflateBound(&z, raw.size)) : NULL;
	if (room) {
		z.next_in = (Bytef *)(uintptr_t)raw.data; // zlib's own prototype lacks the const
		z.avail_in = (uInt)raw.size;
		z.next_out = room;
		z.avail_out = (uInt)deflateBound(&z, raw.size);
		ok = deflate(&z, Z_FINISH) == Z_STREAM_END;
		out->size += ok ? z.total_out : 0;
	} else if (ok) {
		ok = err_memory(err);
	}
	(void)deflateEnd(&z);
	return ok;
}

void pack_base64(struct buffer *out, struct slice raw) {
	static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	size_t n = (raw.size + 2) / 3 * 4;
	uint8_t *to = buffer_room(out, n);
	if (!to) {
		return;
	}
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
