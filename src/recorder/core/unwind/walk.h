// SPDX-License-Identifier: MIT
#pragma once

/**
 * One step of unwinding, from a frame's state to its caller's.
 *
 * A step is a function of the state, of the rule and of the words that it loads, and of nothing
 * else: capture.c relies on that.
 */

#include "recorder/core/unwind/rules.h"
#include "recorder/core/unwind/window.h"

enum walk_step {
	WALK_CALLER, // the state is now the caller's
	WALK_END,    // there is none: outermost frame
	WALK_CUT,    // there must be one, but it cannot be found
};

/** One step, by the step of a rule. Unless WALK_CALLER, tail_* say what was loaded. */
enum walk_step walk_step(struct walk *w, uint64_t rule);

/** Step by the tables with all registers, unwinding from right here to the state and on. */
enum walk_step slow_step(struct walk *w);

enum { WALK_PC_MIN = MACHINE_PAGE_LEAST }; // no code lies below

static inline bool walk_is_pc(uint64_t pc) {
	return pc >= WALK_PC_MIN && pc <= MACHINE_PC_MAX;
}
