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
