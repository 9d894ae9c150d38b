// SPDX-License-Identifier: MIT
/* The next field of a message. */
#include "formats/protobuf.h"

bool proto_next(struct cursor *c, struct proto_field *f) {
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
