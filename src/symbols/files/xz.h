// SPDX-License-Identifier: MIT
#pragma once

/** Unpacks an xz file, such as .gnu_debugdata. */

#include "base/slice.h"

/**
 * Unpack an xz file, such as .gnu_debugdata is. `out` is the caller's to free.
 * False: damaged, larger than a symbol table would be, or no memory.
 */
bool xz_unpack(struct slice packed, struct slice *out);
