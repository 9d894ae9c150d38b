// SPDX-License-Identifier: MIT
#pragma once

/** Protocol buffers, as far as profile.proto needs them. Private to formats/. */

#include "base/buffer.h"
#include "base/cursor.h"

enum { WIRE_VARINT = 0, WIRE_64 = 1, WIRE_BYTES = 2, WIRE_32 = 5 };

static inline void proto_varint(struct buffer *b, unsigned field, uint64_t v) {
	if (v) { // zero is what an absent field means
		buffer_varint(b, field << 3 | WIRE_VARINT);
		buffer_varint(b, v);
	}
}

static inline void proto_bytes(struct buffer *b, unsigned field, struct slice s) {
	buffer_varint(b, field << 3 | WIRE_BYTES);
	buffer_sized(b, s);
}

/** The next field of a message: `number` for varints and fixed ones, `bytes` for the others. False:
 * the message is at its end, or the cursor failed. */
struct proto_field {
	uint32_t id;
	uint32_t wire;
	uint64_t number;
	struct slice bytes;
};
bool proto_next(struct cursor *c, struct proto_field *f);
