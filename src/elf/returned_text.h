// SPDX-License-Identifier: MIT
#pragma once

/**
 * What a function would return that does nothing but return a constant text, read from its
 * instructions: nothing is called. x86-64 alone.
 */

#include "elf/image.h"

/**
 * The text of `function`, a name as in the symbol tables; it points into the image's bytes. False:
 * no such function, or it does anything else, or the text can be written to.
 */
bool elf_returned_text(const struct elf_image *e, const char *function, struct slice *out);
