// SPDX-License-Identifier: MIT
#pragma once

/**
 * From the functions that a walk found at an address to names, files and lines.
 */

#include "symbols/dwarf/unit.h"

/** One unit and the question that it is asked. */
struct asking {
	const struct debug_question *question;
	struct unit *unit;
	struct walk *walk;
	struct arena scratch;
};

/** Which rules the linkage names of a unit follow. */
enum names_scheme answer_scheme(struct unit *unit);

/** Turn the chain of pc number `i` into its answer. False: no memory. */
bool answer_chain(struct asking *a, size_t i);

/**
 * For pcs in the unit that no function holds (assembler): the line alone, if there is one. False:
 * no memory.
 */
bool answer_lines(struct asking *a, struct die_range range);
