// SPDX-License-Identifier: MIT
#pragma once
/** Positions in the source of places in bytecode or in optimized code. */

#include "runtimes/v8_heap.h"

enum { V8_MAX_TABLE = 4 << 20 }; // bytes of a table

/** The last position of a table that is not beyond `offset` in the code. False: there is none. */
bool v8_find_position(struct slice table, int64_t offset, uint64_t *position);

/** Of a position: the offset in the source, and the index of the inlined call; -1: none. */
int32_t v8_position_offset(uint64_t position);
int32_t v8_position_inlining(uint64_t position);

/** The table of bytecode, and the offset in the source of an offset in it; -1: not known. */
bool v8_bytecode_table(struct v8_heap *h, uint64_t bytecode_array, struct buffer *out);
int32_t v8_bytecode_position(struct v8_heap *h, uint64_t bytecode_array, int64_t offset);

/** A call in optimized code: SharedFunctionInfo, 0 for that of the code; position or -1. */
struct v8_call {
	uint64_t shared;
	int32_t position;
};

enum { V8_MAX_INLINED = 32 };
