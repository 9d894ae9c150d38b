// SPDX-License-Identifier: MIT
/* Reads numbers and bytes up to the end of a slice, never beyond. */
#include "base/slice.h"

static void fail(struct cursor *c) {
	c->failed = true;
	c->at = c->end;
}

struct slice cursor_bytes(struct cursor *c, uint64_t n) {
	if (n > cursor_left(c)) {
		fail(c);
		return (struct slice){c->end, 0};
	}
	struct slice s = {c->at, (size_t)n};
	c->at += n;
	return s;
}

struct slice cursor_rest(struct cursor *c) {
	return cursor_bytes(c, cursor_left(c));
}

uint8_t cursor_u8(struct cursor *c) {
	if (c->at == c->end) {
		fail(c);
		return 0;
	}
	return *c->at++;
}

uint64_t little_endian(struct slice s) {
	uint64_t v = 0;
	for (size_t i = s.size; i-- > 0;) {
		v = v << 8 | s.data[i];
	}
	return v;
}

uint32_t cursor_u32(struct cursor *c) {
	return (uint32_t)little_endian(cursor_bytes(c, 4));
}

uint64_t cursor_u64(struct cursor *c) {
	return little_endian(cursor_bytes(c, 8));
}

uint64_t cursor_varint(struct cursor *c) {
	uint64_t v = 0;
	for (unsigned shift = 0; shift < 64 && c->at < c->end; shift += 7) {
		uint64_t byte = *c->at++;
		if (shift == 63 && byte > 1) {
			break;
		}
		v |= (byte & 0x7f) << shift;
		if (byte < 0x80) {
			return v;
		}
	}
	fail(c);
	return 0;
}

struct slice cursor_sized(struct cursor *c) {
	return cursor_bytes(c, cursor_varint(c));
}
