// SPDX-License-Identifier: MIT
/* Packs nothing (deflate's stored blocks), as the profile goes no further. The page unpacks. */
#include "trace/file/scan.h"
#include "wasm/module.h"
#include "web/encode/columns.h"

enum { BLOCK_BYTES = 65535 };

void pack_deflate(struct buffer *out, struct slice raw, int level) {
	(void)level;
	size_t at = 0;
	do {
		size_t left = raw.size - at, n = left < BLOCK_BYTES ? left : BLOCK_BYTES;
		buffer_u8(out, at + n == raw.size); // the last one
		buffer_u32(out, (uint32_t)n | ~(uint32_t)n << 16);
		buffer_bytes(out, raw.data + at, n);
		at += n;
	} while (at < raw.size);
}

bool unpack(uint8_t *out, size_t n, struct slice stored, struct err *err) {
	return host_unzstd(out, n, stored.data, stored.size) ||
			err_format(err, "it does not unpack to what was announced");
}
