// SPDX-License-Identifier: MIT
#pragma once
/** What is to be known of instructions here; arch/MACHINE/code.c knows it. */

#include "elf/image.h"

/**
 * The address that the function at `at` returns, or, `is_loaded`, from which it loads what it
 * returns; `code` is what stands there. `is_fixed`: in a program that is never moved. False: it does
 * anything else.
 */
bool elf_returned_address(struct slice code, uint64_t at, bool is_fixed, uint64_t *address,
		bool *is_loaded);
