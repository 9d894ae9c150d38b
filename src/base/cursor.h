// SPDX-License-Identifier: MIT
#pragma once
/**
 * A bounded reader over bytes with a sticky error: after reading past the end or a malformed
 * number, `failed` is set and all further reads return zero or nothing. Decoders therefore check
 * `failed` once, but must compare every count with cursor_left() before they loop on it.
 */

#include "base/slice.h"

struct cursor {
	const uint8_t *at;
	const uint8_t *end;
	bool failed;
};

static inline struct cursor cursor_init(struct slice s) {
	return (struct cursor){s.data, s.size ? s.data + s.size : s.data, false}; // data may be NULL
}

static inline size_t cursor_left(const struct cursor *c) {
	return (size_t)(c->end - c->at);
}

/** The next `n` bytes, borrowed from the source; empty if there are fewer. */
struct slice cursor_bytes(struct cursor *c, size_t n);

/** All that is left. */
struct slice cursor_rest(struct cursor *c);

/** Little endian. */
uint8_t cursor_u8(struct cursor *c);
uint32_t cursor_u32(struct cursor *c);
uint64_t cursor_u64(struct cursor *c);

/** LEB128, at most 10 bytes. */
uint64_t cursor_varint(struct cursor *c);

/** A varint length, then that many bytes, borrowed. */
struct slice cursor_sized(struct cursor *c);
