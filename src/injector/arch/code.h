// SPDX-License-Identifier: MIT
#pragma once
/** What the instructions of a function do: bytes in, answers out. Nothing is run or written. */

#include "base/base.h"

struct function_code {
	const uint8_t *bytes; // as the process or the file has them
	size_t n_bytes;       // of the function and of what follows it, as far as given
	size_t size;          // of the function
	uint64_t address;
};

/** Does it read its second argument before it calls another function? */
bool code_reads_second(struct function_code f);

/** Places outside of it that it calls or jumps to, as far as instructions tell; at most `max`. */
size_t code_ways_out(struct function_code f, uint64_t *out, size_t max);

/** Does it call or jump to `address` or, unless only that counts, make a pointer to it? */
bool code_refers(struct function_code f, uint64_t address, bool is_call_only);

/** The next offset from `at` on where `code` (at `code_at`) may refer to `address`, or SIZE_MAX. */
size_t code_next_candidate(struct slice code, uint64_t code_at, size_t at, uint64_t address);

/** Does it multiply two numbers that are not constants? */
bool code_multiplies(struct function_code f);

/** Does one of its first instructions compare its first argument with `value`? */
bool code_compares_first(struct function_code f, int64_t value);

/** Does it begin with system call `number`? */
bool code_begins_with_call(struct function_code f, uint32_t number);

/** Is it a PLT entry at `address`? Then `*slot` is the word of the GOT that it jumps through. */
bool code_plt_slot(struct slice code, uint64_t address, uint64_t *slot);

// ---- what one instruction does to its function's frame, and where it leads

/** A frame before an instruction. Distances are in words, down from the CFA (sp at the call). */
struct frame_row {
	uint16_t sp;     // to the stack pointer; 0: unknown
	uint16_t bp;     // to where the frame pointer points; 0: it is none
	uint16_t bp_at;  // to the caller's frame pointer; 0: it is in the register
	uint8_t is_end;  // nobody called it: the outermost frame
	uint8_t n_bytes; // of the instruction; 0: not reached
};

#define STEP_NO_PLACE UINT64_MAX

enum { STEP_WORD = 8, STEP_ENTRY_SP = 1 }; // at its beginning: the return address is pushed

/** What a jump through a table needs from the instructions before it. Zeroed for each walk. */
struct step_hints {
	uint64_t table; // the last place that a pointer was made to
	uint64_t n;     // the number last compared with, plus 1: how many ways
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
	uint64_t pointer; // the place it makes a pointer to; or STEP_NO_PLACE
	// STEP_SWITCH: where the table is and how many entries it has: addresses, or distances from it
	uint64_t table, n_ways;
	bool has_addresses;
};

/** The instruction in `bytes`, at address `at`. False: it cannot be decoded. */
bool step_over(struct step *out, struct frame_row *row, struct step_hints *hints,
		const uint8_t *bytes, size_t n_bytes, uint64_t at);

// ---- moving the beginning of a function to make room for a jump (pure: bytes in, bytes out)

enum {
	RELOCATE_CODE_MAX = 96, // bytes of a moved beginning, with the jump to the rest
	RELOCATE_RELAY_BYTES = 32,
	RELOCATE_STEPS_MAX = 8,
};

struct relocated {
	uint64_t patch_at; // after an instruction that marks the target of indirect jumps
	uint8_t n_taken;   // bytes from there on that were moved
	uint8_t n_code;
	uint8_t code[RELOCATE_CODE_MAX];
	// Offsets of each moved instruction, before and after: for threads that stand at one
	uint8_t n_steps;
	uint8_t from[RELOCATE_STEPS_MAX], to[RELOCATE_STEPS_MAX];
};

/** Move the beginning of `f` to `target`. NULL, or why that cannot be done safely. */
const char *relocate(struct relocated *out, const struct function_code *f, uint64_t target);

/** The jump from a function's start at `from`, as long as what was moved. Returns its length. */
uint8_t relocate_put_jump(uint8_t *out, uint64_t from, uint64_t to);

/** What that jump leads to: a call of the recorder's `stub` for the hook at `what`. */
void relocate_put_relay(uint8_t out[RELOCATE_RELAY_BYTES], uint64_t what, uint64_t stub);
