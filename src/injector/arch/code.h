// SPDX-License-Identifier: MIT
#pragma once
/** What the instructions of a function do. Bytes in, answers out: nothing is run or written. */

#include "base/base.h"

struct function_code {
	const uint8_t *bytes; // as the process or the file has them
	size_t n_bytes;       // of the function and of what follows it, as far as given
	size_t size;          // of the function
	uint64_t address;
};

/** Does it read its second argument before it calls another function? */
bool code_reads_second(struct function_code f);

/** Where it calls or jumps to outside of itself, as far as instructions say; at most `max`. */
size_t code_ways_out(struct function_code f, uint64_t *out, size_t max);

/** Does it call or jump to `address` or, unless only that counts, make a pointer to it? */
bool code_refers(struct function_code f, uint64_t address, bool is_call_only);

/**
 * The next offset in `code`, which lies at `code_at`, from `at` on, where bytes stand that could be
 * a reference to `address`. SIZE_MAX: none. Quick; code_refers tells whether it is one.
 */
size_t code_next_candidate(struct slice code, uint64_t code_at, size_t at, uint64_t address);

/** Does it multiply two numbers that are not constants? */
bool code_multiplies(struct function_code f);

/** Does one of its first instructions compare its first argument with `value`? */
bool code_compares_first(struct function_code f, int64_t value);

/** Does it begin with a system call of that number? */
bool code_begins_with_call(struct function_code f, uint32_t number);

/** Is it an entry of the PLT, at `address`? Then `*slot` is the word of the GOT it jumps by. */
bool code_plt_slot(struct slice code, uint64_t address, uint64_t *slot);

// ---- what one instruction does to its function's frame, and where it leads

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

// ---- moving the beginning of a function elsewhere, so that a jump can stand in its place
//
// Pure: bytes in, bytes out.

enum {
	RELOCATE_CODE_MAX = 96, // bytes that a moved beginning becomes, with the jump to the rest
	RELOCATE_RELAY_BYTES = 32,
	RELOCATE_STEPS_MAX = 8,
};

struct relocated {
	uint64_t patch_at; // behind an instruction that marks the target of indirect jumps
	uint8_t n_taken;   // bytes from there on that were moved
	uint8_t n_code;
	uint8_t code[RELOCATE_CODE_MAX];
	// Where each moved instruction was and is, as offsets: for threads that stand on one
	uint8_t n_steps;
	uint8_t from[RELOCATE_STEPS_MAX], to[RELOCATE_STEPS_MAX];
};

/** Move the beginning of `f` to `target`. NULL, or why that cannot be done safely. */
const char *relocate(struct relocated *out, const struct function_code *f, uint64_t target);

/** The jump from a function's beginning at `from`, as long as what was moved. Returns its bytes. */
uint8_t relocate_put_jump(uint8_t *out, uint64_t from, uint64_t to);

/** What the jump leads to: it calls the recorder's `stub` about the hook at `what`. */
void relocate_put_relay(uint8_t out[RELOCATE_RELAY_BYTES], uint64_t what, uint64_t stub);
