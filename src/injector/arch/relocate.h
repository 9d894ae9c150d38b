// SPDX-License-Identifier: MIT
#pragma once

/**
 * Moving the beginning of a function elsewhere, so that a jump can stand in its place. Pure: bytes
 * in, bytes out.
 */

#include "base/err.h"

#include <stddef.h>
#include <stdint.h>

enum {
	RELOCATE_JUMP_BYTES = 5,
	RELOCATE_MOVED_MAX = 16, // bytes taken away, at most
	RELOCATE_CODE_MAX = 96,  // and what they become, with the jump to the rest
	RELOCATE_STEPS_MAX = 8,
};

struct function_code {
	const uint8_t *bytes; // as the process has it
	size_t n_bytes;       // of the function, and what follows it, as far as given
	size_t size;          // of the function
	uint64_t address;
};

struct relocated {
	uint64_t patch_at; // behind an endbr64
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

/** Does `f` read its second argument (%rsi), before it calls another? */
bool relocate_reads_second(const struct function_code *f);

/** Where `f` calls or jumps to outside of itself, as far as it says itself; at most `max`. */
size_t relocate_ways_out(const struct function_code *f, uint64_t *out, size_t max);
