// SPDX-License-Identifier: MIT
/* Unpacks an xz file into a buffer that doubles until it fits. */
#include "symbols/files/files.h"

#include <lzma.h>

enum { UNPACKED_MAX = 64 << 20, MEMORY_MAX = 128 << 20 };

bool xz_unpack(struct slice packed, struct slice *out) {
	// The size is not known before: double until it fits
	for (size_t room = 1 << 20; packed.size && room <= UNPACKED_MAX; room *= 2) {
		uint8_t *data = malloc(room);
		if (!data) {
			return false;
		}
		uint64_t memory = MEMORY_MAX;
		size_t from = 0, to = 0;
		lzma_ret ret = lzma_stream_buffer_decode(&memory, 0, NULL, packed.data, &from, packed.size,
				data, &to, room);
		if (ret == LZMA_OK && to > 0) {
			*out = slice_of(data, to);
			return true;
		}
		free(data);
		if (ret != LZMA_BUF_ERROR || from == packed.size) {
			return false;
		}
	}
	return false;
}
