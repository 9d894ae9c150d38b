// SPDX-License-Identifier: MIT
#pragma once
/** Protocol buffers, as far as profile.proto needs them. Private to formats/. */

#include "base/base.h"

enum { WIRE_VARINT = 0, WIRE_64 = 1, WIRE_BYTES = 2, WIRE_32 = 5 };

static inline void proto_varint(struct buffer *b, unsigned field, uint64_t v) {
	if (v) { // zero is the default
		buffer_varint(b, field << 3 | WIRE_VARINT);
		buffer_varint(b, v);
	}
}

static inline void proto_bytes(struct buffer *b, unsigned field, struct slice s) {
	buffer_varint(b, field << 3 | WIRE_BYTES);
	buffer_sized(b, s);
}

/** A field: `number` of varints and fixed ones, `bytes` of the others. */
struct proto_field {
	uint32_t id;
	uint32_t wire;
	uint64_t number;
	struct slice bytes;
};

/** The next field of a message. False: at its end, or the cursor failed. */
static inline bool proto_next(struct cursor *c, struct proto_field *f) {
	if (c->failed || cursor_left(c) == 0) {
		return false;
	}
	uint64_t tag = cursor_varint(c);
	*f = (struct proto_field){.id = (uint32_t)(tag >> 3), .wire = tag & 7};
	switch (f->wire) {
	case WIRE_VARINT: f->number = cursor_varint(c); break;
	case WIRE_64: f->number = cursor_u64(c); break;
	case WIRE_BYTES: f->bytes = cursor_sized(c); break;
	case WIRE_32: f->number = cursor_u32(c); break;
	default: c->failed = true;
	}
	return !c->failed;
}
