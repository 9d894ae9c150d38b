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
