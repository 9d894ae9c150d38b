// SPDX-License-Identifier: MIT
#pragma once
/**
 * Determines which units must be read for some addresses.
 *
 * And how much of a file that takes: elfutils, which is not used here, reads a file from its
 * beginning. DWARF 5, sections 6.1.2 and 7.5.3. Bytes of any file are fine.
 */

#include "base/base.h"

#define AHEAD_NONE UINT64_MAX

/**
 * units[i]: where in .debug_info the unit begins that holds pcs[i], by .debug_aranges; the first,
 * if there are several. AHEAD_NONE: the table, which need not be complete, knows of none. `pcs` are
 * not descending. False: ranges lie upon each other beyond reason.
 */
bool ahead_units(struct slice aranges, const uint64_t *pcs, size_t n, uint64_t *units);

/**
 * Is a unit read alone whose abbreviations are the table at `at` of .debug_abbrev? False: it may
 * refer to others, or the table is damaged.
 */
bool ahead_is_alone(struct slice abbrev, uint64_t at);
