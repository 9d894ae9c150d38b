// SPDX-License-Identifier: MIT
#pragma once
/** What one instruction does to its function's frame, and where it leads. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/**
 * What is known of a frame before an instruction. Distances are in words, from the CFA downwards:
 * the caller's stack pointer at the call.
 */
struct frame_row {
	uint16_t sp;     // to the stack pointer; 0: unknown
	uint16_t bp;     // to where the frame pointer points; 0: it is none
	uint16_t bp_at;  // to the caller's frame pointer; 0: it is in the register
	uint8_t is_end;  // nobody has called
	uint8_t n_bytes; // of the instruction; 0: not reached
};

#define STEP_NO_PLACE UINT64_MAX

enum { STEP_WORD = 8, STEP_ENTRY_SP = 1 }; // at a function's beginning the return address is pushed

/** What a jump by a table needs of the instructions before it. Begins zeroed with each walk. */
struct step_hints {
	uint64_t table; // the last place that a pointer was made to
	uint64_t n;     // what was compared with last, and 1: so many ways
};

enum step_way {
	STEP_ON,      // to the next instruction
	STEP_CALL,    // of `to`, and on if that returns
	STEP_BRANCH,  // to `to`, or on
	STEP_JUMP,    // to `to`
	STEP_SWITCH,  // to one of the places of a table
	STEP_NOWHERE, // it returns, traps, or leads to an unknown place
};

struct step {
	uint8_t n_bytes;
	enum step_way way;
	uint64_t to;      // or STEP_NO_PLACE: unknown
	uint64_t pointer; // it makes a pointer to that place; or STEP_NO_PLACE
	// Of STEP_SWITCH: where the table is and how many entries it has, each an address, or
	// a distance from the table
	uint64_t table, n_ways;
	bool has_addresses;
};

/** The instruction at `bytes`, which lies at `at`. False: it cannot be decoded. */
bool step_over(struct step *out, struct frame_row *row, struct step_hints *hints,
		const uint8_t *bytes, size_t n_bytes, uint64_t at);
