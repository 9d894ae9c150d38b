// SPDX-License-Identifier: MIT
/* Packs and unpacks single zstd frames. */
#include "trace/file/scan.h"

#include <zstd.h>

void pack(struct buffer *out, struct slice raw, int level) {
	buffer_clear(out);
	size_t bound = ZSTD_compressBound(raw.size);
	uint8_t *at = buffer_room(out, bound);
	ZSTD_CCtx *zstd = ZSTD_createCCtx() ?: memory_lacks();
	(void)ZSTD_CCtx_setParameter(zstd, ZSTD_c_compressionLevel, level);
	(void)ZSTD_CCtx_setParameter(zstd, ZSTD_c_checksumFlag, 1);
	size_t n = ZSTD_compress2(zstd, at, bound, raw.data, raw.size);
	ZSTD_freeCCtx(zstd);
	if (ZSTD_isError(n)) { // there is room for the worst case, so memory failed
		(void)memory_lacks();
	}
	out->size = n;
}

bool unpack(uint8_t *out, size_t n, struct slice stored, struct err *err) {
	if (ZSTD_getFrameContentSize(stored.data, stored.size) != n) {
		return err_format(err, "it is not the zstd frame that was announced");
	}
	// One frame only: ZSTD_decompress would continue with a second one
	size_t whole = ZSTD_findFrameCompressedSize(stored.data, stored.size);
	if (whole != stored.size) {
		return err_format(err, "its zstd frame is torn");
	}
	size_t got = ZSTD_decompress(out, n, stored.data, stored.size);
	if (ZSTD_isError(got)) {
		return err_format(err, "it does not unpack: %s", ZSTD_getErrorName(got));
	}
	return got == n || err_format(err, "it unpacks to fewer bytes than announced");
}
