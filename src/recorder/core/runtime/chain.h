// SPDX-License-Identifier: MIT
#pragma once
/**
 * The frames that a runtime itself keeps for this thread.
 *
 * They come innermost first, in pieces: a native frame of the runtime stands for the frames of one
 * piece. Any thread, any signal handler; only the thread itself changes its frames.
 */

#include "recorder/core/runtime/guard.h"
#include "recorder/core/unwind/runtimes.h"

/** Set in `where` of the outermost frame of a piece; alone: the piece has no frames. */
#define CHAIN_ENDS_PIECE WIRE_EXACT_PC

struct chain {
	uint64_t *frames; // `where`s, innermost first; the caller's
	uint32_t n, n_max;
	uint32_t n_pieces;
	bool is_full; // there were more
};

/**
 * The frames of Python. `*thread`: what the last call for this context has found, or 0. False: what
 * is there makes no sense.
 */
bool chain_of_python(struct chain *chain, const struct runtime *runtime, struct guard *guard,
		uint64_t *thread);
