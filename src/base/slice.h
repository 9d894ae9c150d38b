// SPDX-License-Identifier: MIT
#pragma once
/** Bytes with their length: compared, hashed, and read one after the other. */

#include "base/attr.h"

#include <stddef.h>
#include <stdint.h>
#include <string.h>

/** Bytes with their length, borrowed. Text in a slice is not zero terminated. */
struct slice {
	const uint8_t *data;
	size_t size;
};

static inline struct slice slice_of(const void *data, size_t size) {
	return (struct slice){data, size};
}

static inline struct slice slice_of_text(const char *text) {
	return (struct slice){(const uint8_t *)text, strlen(text)};
}

static inline bool slice_equal(struct slice a, struct slice b) {
	return a.size == b.size && (a.size == 0 || memcmp(a.data, b.data, a.size) == 0);
}

/** For sorting: byte by byte, a beginning before what goes on. */
static inline int slice_compare(struct slice a, struct slice b) {
	size_t n = a.size < b.size ? a.size : b.size;
	return (n ? memcmp(a.data, b.data, n) : 0) ?: (a.size > b.size) - (a.size < b.size);
}

enum { SLICE_HASH = 0 }; // where hashes begin

/**
 * FNV-1a, a word at a time, all bits mixed at the end. `before`: SLICE_HASH, or the hash of what
 * comes before.
 */
static inline uint64_t slice_hash(uint64_t before, struct slice s) {
	uint64_t h = before ^ 0xcbf29ce484222325u;
	size_t at = 0;
	for (uint64_t word; at + sizeof word <= s.size; at += sizeof word) {
		memcpy(&word, s.data + at, sizeof word);
		h = (h ^ word) * 0x9e3779b97f4a7c15u;
		h ^= h >> 29;
	}
	for (; at < s.size; at++) {
		h = (h ^ s.data[at]) * 0x100000001b3u;
	}
	h = (h ^ h >> 32 ^ s.size) * 0x9e3779b97f4a7c15u;
	return h ^ h >> 32;
}

/** For printf's "%.*s". */
#define SLICE_ARG(s) (int)(s).size, (const char *)(s).data

// ---- a bounded reader over bytes with a sticky error
//
// After reading past the end or a malformed number, `failed` is set and all further reads return
// zero or nothing. Decoders therefore check `failed` once, but must compare every count with
// cursor_left() before they loop on it.

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
