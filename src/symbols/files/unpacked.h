// SPDX-License-Identifier: MIT
#pragma once
/**
 * The compressed debug sections of a file as an ELF image for elfutils. Units
 * and lines, the largest two, are unpacked from their beginning only as far as they are asked for:
 * what is asked of a C library is where main was called from, which takes a hundredth of them. What
 * was not asked for, and what is damaged, reads as zeros.
 */

#include "elf/image.h"

struct unpacked;

enum unpacked_section { UNPACKED_INFO, UNPACKED_LINE, UNPACKED_ABBREV, N_UNPACKED };

/** The file's bytes are borrowed. NULL: no memory, or sizes beyond reason. */
struct unpacked *unpacked_create(const struct elf_image *file);
void unpacked_destroy(struct unpacked *u);

/** As long as `u` lives. */
struct slice unpacked_image(const struct unpacked *u);

/**
 * The first `end` bytes of a section are to be there; UINT64_MAX: all. Those that are. (All
 * abbreviations always are: elfutils looks at those of each unit that it passes.)
 */
struct slice unpacked_reach(struct unpacked *u, enum unpacked_section section, uint64_t end);
