// SPDX-License-Identifier: MIT
#pragma once
/** What is to be known of instructions here; arch/MACHINE/code.c knows it. */

#include "elf/image.h"

/**
 * As elf_returned, of the function at `at`, where `code` stands. `is_fixed`: in a program that is
 * never moved.
 */
bool elf_returned_address(struct slice code, uint64_t at, bool is_fixed, uint64_t *address,
		bool *is_loaded);

/** Where the next of what looks like a jump goes to. `*i`: where to look from, moved behind it. */
bool elf_next_jump(const struct elf_code *code, size_t *i, uint64_t *target);
