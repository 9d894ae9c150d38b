// SPDX-License-Identifier: MIT
/* Deflate that packs nothing (stored blocks): the profile goes no further than the page. */
#include "web/encode/columns.h"

enum { BLOCK_BYTES = 65535 };

bool pack_deflate(struct buffer *out, struct slice raw, int level, struct err *err) {
	(void)level;
	size_t at = 0;
	do {
		size_t left = raw.size - at, n = left < BLOCK_BYTES ? left : BLOCK_BYTES;
		buffer_u8(out, at + n == raw.size); // the last one
		buffer_u32(out, (uint32_t)n | ~(uint32_t)n << 16);
		buffer_bytes(out, raw.data + at, n);
		at += n;
	} while (at < raw.size);
	return !out->failed || err_memory(err);
}
