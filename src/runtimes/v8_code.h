// SPDX-License-Identifier: MIT
#pragma once
/** Code of V8: from a place in bytecode or machine code to positions in the source. */

#include "runtimes/v8_positions.h"

/** A Code object. */
struct v8_code {
	uint64_t object, start;
	uint32_t bytes;
	int32_t kind; // compared with layout.code_kind_baseline
};

/**
 * The code around a return address. `function`, whose frame it is, may know it; else it is searched
 * for before the address. False: not found.
 */
bool v8_code_at(struct v8_heap *h, uint64_t pc, uint64_t function, struct v8_code *out);

/** Of baseline code: where in which bytecode the call is that returns to `pc`. */
bool v8_baseline_offset(struct v8_heap *h, const struct v8_code *c, uint64_t pc,
		uint64_t *bytecode_array, int64_t *offset);

/** The calls that a return address stands for, the innermost first. 0: not known. */
uint32_t v8_optimized_calls(struct v8_heap *h, const struct v8_code *c, uint64_t pc,
		struct v8_call out[V8_MAX_INLINED]);
