// SPDX-License-Identifier: MIT
#pragma once

#include "base/slice.h"

/**
 * A bounded reader over bytes with a sticky error: once it has run dry or met a malformed number,
 * `failed` is set and everything further reads as zero or empty. So decoders stay linear and check
 * `failed` once, but never loop on a count without comparing it with cursor_left() first.
 */
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

/** Zigzag LEB128. */
int64_t cursor_signed(struct cursor *c);

/** A varint length, then that many bytes, borrowed. */
struct slice cursor_sized(struct cursor *c);

/**
 * A varint that counts things of at least `min_bytes` each: fails if what is left cannot hold
 * that many. Use it before every allocation or loop that a file's number drives.
 */
uint64_t cursor_count(struct cursor *c, size_t min_bytes);
