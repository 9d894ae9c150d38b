// SPDX-License-Identifier: MIT
/* Finds the end of a zstd frame here (RFC 8878), and has it unpacked outside of the module. */
#include "base/slice.h"
#include "wasm/module.h"

#include <zstd.h>

enum { FAILED = -1 };

struct frame {
	uint64_t content_bytes; // UINT64_MAX: it does not say
	size_t bytes;           // all of it, or FAILED
};

static uint64_t read_number(struct cursor *c, unsigned n) {
	uint64_t v = 0;
	struct slice bytes = cursor_bytes(c, n);
	for (size_t i = 0; i < bytes.size; i++) {
		v |= (uint64_t)bytes.data[i] << 8 * i;
	}
	return v;
}

static struct frame find_frame(const void *in, size_t n) {
	static const unsigned content_sizes[] = {0, 2, 4, 8}, dictionary_sizes[] = {0, 1, 2, 4};
	struct cursor c = cursor_init(slice_of(in, n));
	struct frame f = {UINT64_MAX, (size_t)FAILED};
	bool is_zstd = read_number(&c, 4) == 0xfd2fb528;
	unsigned head = (unsigned)read_number(&c, 1);
	bool is_single = head & 32;
	(void)read_number(&c, is_single ? 0 : 1);
	(void)read_number(&c, dictionary_sizes[head & 3]);
	unsigned size = head >> 6 ? content_sizes[head >> 6] : is_single;
	uint64_t content = read_number(&c, size) + (size == 2 ? 256 : 0);
	f.content_bytes = size && !c.failed && is_zstd ? content : UINT64_MAX;
	bool is_last = false;
	while (is_zstd && !is_last && !c.failed) {
		unsigned block = (unsigned)read_number(&c, 3), kind = block >> 1 & 3;
		is_last = block & 1;
		c.failed |= kind == 3;
		(void)cursor_bytes(&c, kind == 1 ? 1 : block >> 3);
	}
	(void)read_number(&c, head & 4 ? 4 : 0); // its checksum
	f.bytes = is_last && !c.failed ? n - cursor_left(&c) : (size_t)FAILED;
	return f;
}

unsigned long long ZSTD_getFrameContentSize(const void *in, size_t n) {
	return find_frame(in, n).content_bytes;
}

size_t ZSTD_findFrameCompressedSize(const void *in, size_t n) {
	return find_frame(in, n).bytes;
}

size_t ZSTD_decompress(void *out, size_t room, const void *in, size_t n) {
	return host_unzstd(out, room, in, n) ? room : (size_t)FAILED;
}

unsigned ZSTD_isError(size_t n) {
	return n == (size_t)FAILED;
}

const char *ZSTD_getErrorName(size_t n) {
	(void)n;
	return "damaged";
}
