// SPDX-License-Identifier: MIT
#pragma once

/**
 * The constant text that a function returns, read from its instructions; nothing is called.
 *
 * The function must do nothing else, and be of the machine that this is built for.
 */

#include "elf/image.h"

/**
 * The text of `function`, a name as in the symbol tables; it points into the image's bytes. False:
 * no such function, or it does anything else, or the text can be written to.
 */
bool elf_returned_text(const struct elf_image *e, const char *function, struct slice *out);
