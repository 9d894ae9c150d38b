// SPDX-License-Identifier: MIT
/*
 * A source position table is pairs of numbers: how far on in the code, how far on in the source. A
 * position is, from the lowest bit on: 1 bit, 30 bits of offset + 1, 16 bits of inlining + 1.
 */
#include "runtimes/v8_positions.h"

#include "base/slice.h"

int32_t v8_position_offset(uint64_t position) {
	return (int32_t)(position >> 1 & 0x3fffffff) - 1;
}

int32_t v8_position_inlining(uint64_t position) {
	return (int32_t)(position >> 31 & 0xffff) - 1;
}

static int64_t take_signed(struct cursor *c) {
	uint64_t n = cursor_varint(c);
	return (int64_t)(n >> 1 ^ -(n & 1));
}

bool v8_find_position(struct slice table, int64_t offset, uint64_t *position) {
	int64_t at = -1; // where a function is entered
	uint64_t sum = 0;
	bool is_found = false;
	for (struct cursor c = cursor_init(table); cursor_left(&c) > 0;) {
		int64_t code = (int32_t)take_signed(&c);
		at += code >= 0 ? code : -(code + 1); // a negative one starts no statement
		sum += (uint64_t)take_signed(&c);
		if (c.failed || at > offset) {
			break;
		}
		*position = sum;
		is_found = true;
	}
	return is_found;
}

bool v8_bytecode_table(struct v8_heap *h, uint64_t bytecode_array, struct buffer *out) {
	uint64_t table;
	return v8_word(h, bytecode_array, h->layout->bytecode_positions, &table) &&
			v8_byte_array(h, table, V8_MAX_TABLE, out);
}

int32_t v8_bytecode_position(struct v8_heap *h, uint64_t bytecode_array, int64_t offset) {
	struct buffer table = {0};
	uint64_t position;
	bool ok = v8_bytecode_table(h, bytecode_array, &table) &&
			v8_find_position(buffer_view(&table), offset, &position);
	buffer_finish(&table);
	return ok ? v8_position_offset(position) : -1;
}
