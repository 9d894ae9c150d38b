// SPDX-License-Identifier: MIT
#pragma once

/**
 * Private to symbols: which units are to be read for some addresses, and how much of a file that
 * takes, found out without elfutils, which reads a file from its beginning. DWARF 5, sections 6.1.2
 * and 7.5.3. Bytes of any file are fine.
 */

#include "base/slice.h"

#include <stddef.h>
#include <stdint.h>

#define AHEAD_NONE UINT64_MAX

/**
 * units[i]: where in .debug_info the unit begins that holds pcs[i], by .debug_aranges; the first, if
 * there are several. AHEAD_NONE: the table, which need not be complete, knows of none. `pcs` are not
 * descending.
 */
void ahead_units(struct slice aranges, const uint64_t *pcs, size_t n, uint64_t *units);

enum ahead_reach {
	AHEAD_CLOSED, // a unit with these abbreviations is read alone
	AHEAD_OPEN,   // it may refer to any other
	AHEAD_CUT,    // the table goes on behind these bytes
};

/** What the table of abbreviations says that begins at `at` in the first bytes of .debug_abbrev. */
enum ahead_reach ahead_abbreviations(struct slice abbrev, uint64_t at);
