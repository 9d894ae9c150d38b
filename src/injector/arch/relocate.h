// SPDX-License-Identifier: MIT
#pragma once
/**
 * Moving the beginning of a function elsewhere, so that a jump can stand in its place. Pure: bytes
 * in, bytes out.
 */

#include "injector/arch/code.h"

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

/** Move the beginning of `f` to `target`. False: that cannot be done safely; `err` says why. */
bool relocate(struct relocated *out, const struct function_code *f, uint64_t target,
		struct err *err);

/** The jump from a function's beginning at `from`, as long as what was moved. Returns its bytes. */
uint8_t relocate_put_jump(uint8_t *out, uint64_t from, uint64_t to);

/** What the jump leads to: it calls the recorder's `stub` about the hook at `what`. */
void relocate_put_relay(uint8_t out[RELOCATE_RELAY_BYTES], uint64_t what, uint64_t stub);
