// SPDX-License-Identifier: MIT
#pragma once
/** What must be known of instructions; arch/MACHINE/code.c knows it. */

#include "elf/image.h"

/** As elf_returned, for the function at `at`: `code`. `is_fixed`: the program never moves. */
bool elf_returned_address(struct slice code, uint64_t at, bool is_fixed, uint64_t *address,
		bool *is_loaded);

/** The target of the next thing that looks like a jump. `*i`: where to look from, moved past it. */
bool elf_next_jump(const struct elf_code *code, size_t *i, uint64_t *target);
