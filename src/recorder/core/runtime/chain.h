// SPDX-License-Identifier: MIT
#pragma once
/**
 * The frames Python itself keeps for this thread; a native frame of the interpreter's loop stands
 * for a piece of them. Any thread, any signal handler; only the thread itself changes them.
 */

#include "recorder/core/runtime/guard.h"
#include "recorder/core/unwind/runtimes.h"

/** Set in the `where` of the outermost frame of a piece; alone: that frame is of no function. */
#define PIECE_BEGINS WIRE_EXACT_PC

/**
 * What is known of a frame of Python: the words read of it and of what it points to, and what they
 * say. While all of the words are the same, so is that.
 */
struct known_frame {
	uint64_t frame; // its address; 0: nothing is known
	uint64_t where; // without PIECE_BEGINS; 0: of no function that has begun
	uint32_t round; // of the guard, which found all of it readable
	uint8_t mark;   // of the frame, like the next three
	bool is_code;   // `code` is a code object, and what follows is known
	uint64_t code, previous, instruction;
	uint64_t file, qualified_name, line_table; // of the code, like the next one
	uint32_t first_line;
	struct known_end {
		uint32_t bytes, at; // how many follow the object's head, and where the last two words are
		uint64_t words[2];
	} file_end, line_table_end;
};
_Static_assert(sizeof(struct known_frame) == 128, "two cache lines");

/** What a context remembers of Python. */
struct known_python {
	struct known_frame *frames; // outermost first
	uint32_t n, n_max;
	uint64_t thread; // Python's data of the thread; 0: not known
};

/** Find the current frames, and extend the hash `*path`. False: invalid, or more than `n_max`. */
bool chain_of_python(struct known_python *known, const struct runtime *runtime, struct guard *guard,
		uint64_t *path);
