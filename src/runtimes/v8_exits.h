// SPDX-License-Identifier: MIT
#pragma once
/** Deoptimization exits: what optimized code would go on with in the interpreter. */

#include "runtimes/v8_code.h"

/**
 * The calls that the return address `at`, counted from the start of the code, stands for, the
 * innermost first. 0: not known, or the layout has no exits.
 */
uint32_t v8_exit_calls(struct v8_heap *h, const struct v8_code *c, uint64_t deoptimization,
		uint32_t at, struct v8_call out[V8_MAX_INLINED]);
