// SPDX-License-Identifier: MIT
#pragma once
/** zstd frames, one at a time, with content size and checksum. */

#include "base/base.h"

enum {
	PACK_FAST = 1,    // while recording
	PACK_COMPACT = 3, // the finished file
};

/** Replace `out`'s bytes with one zstd frame that unpacks to `raw`. */
bool pack(struct buffer *out, struct slice raw, int level, struct err *err);

/** False if `stored` can't unpack to that many bytes: ask before taking memory for them. */
bool unpack_is_possible(uint64_t raw_bytes, uint64_t stored_bytes);

/** Unpack exactly `n` bytes to `out`. */
bool unpack(uint8_t *out, size_t n, struct slice stored, struct err *err);
