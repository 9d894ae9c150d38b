// SPDX-License-Identifier: MIT
#pragma once
/** The functions of runtimes, in the segment's table of units. Any thread, any signal handler. */

#include "recorder/core/runtime/guard.h"
#include "recorder/core/unwind/runtimes.h"

/**
 * The unit of a function whose object lies at identity[0], made if it is new, with its excerpt. 0:
 * there is no room.
 */
uint32_t units_find(const struct runtime *runtime, struct guard *guard, const uint64_t identity[3],
		uint32_t slot);
