// SPDX-License-Identifier: MIT
/* Packs bytes as one member of gzip. */
#include "formats/formats.h"

#include <zlib.h>

enum { GZIP_WINDOW = 15 + 16 }; // 32 kB, with gzip's header

bool gzip_encode(struct buffer *out, struct slice in, struct err *err) {
	z_stream z = {0};
	if (in.size > UINT_MAX / 2 ||
			deflateInit2(&z, 6, Z_DEFLATED, GZIP_WINDOW, 8, Z_DEFAULT_STRATEGY) != Z_OK) {
		return err_set(err, ERR_LIMIT, "%zu bytes are too much for one gzip member", in.size);
	}
	size_t bound = deflateBound(&z, in.size);
	uint8_t *room = buffer_room(out, bound);
	if (room) {
		z.next_in = (Bytef *)in.data;
		z.avail_in = (uInt)in.size;
		z.next_out = room;
		z.avail_out = (uInt)bound;
		out->failed |= deflate(&z, Z_FINISH) != Z_STREAM_END;
		out->size += z.total_out;
	}
	(void)deflateEnd(&z);
	return !out->failed || err_memory(err);
}
