// SPDX-License-Identifier: MIT
#pragma once
/** The functions of runtimes, in the segment's table of units. Any thread, any signal handler. */

#include "recorder/core/runtime/guard.h"
#include "recorder/core/unwind/runtimes.h"

/** What identifies a function, as in wire_unit, and where it is now. */
struct unit_key {
	uint64_t identity[3];
	uint64_t object, array; // V8: the bytecode; of compiled code, the function
	uint32_t thread;
};

/** The unit of a function, made with its excerpt if it is new. 0: no room. */
uint32_t units_find(const struct runtime *runtime, struct guard *guard, const struct unit_key *key);
