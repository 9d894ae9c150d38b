// SPDX-License-Identifier: MIT
#pragma once
/** One compile unit at work. */

#include "symbols/dwarf/debug_data.h"
#include "symbols/dwarf/die.h"
#include "symbols/dwarf/split.h"

struct unit {
	Dwarf_Die lines_die; // of the unit with the line table
	Dwarf_Die tree_die;  // of the unit with the functions: the same unless it is split
	uint64_t first_code; // of the module: below it there is no code
	enum names_scheme scheme;
	const struct split *split; // NULL: it is not
};

/** One function in the chain of an address: a subprogram, or an inlined call in it. */
struct chain_link {
	Dwarf_Die die;
	uint32_t outer; // its number + 1 in the walk's links; 0: this is the subprogram
	uint32_t depth; // in the tree
};

/** The walk of one unit, and for how far it is with all units. */
struct walk {
	const uint64_t *pcs;
	size_t n;
	uint32_t *owners; // per pc: the number of the subprogram that holds it; 0: none yet
	uint32_t *heads;  // per pc: the innermost link + 1, in the unit at work
	uint32_t n_subprograms;
	VEC(struct chain_link) links; // of the unit at work
	VEC(uint32_t) claimed;        // pcs that the unit at work took
	bool failed;                  // no memory
};

bool walk_init(struct walk *w, const uint64_t *pcs, size_t n);
void walk_finish(struct walk *w);

/** Is there a pc in the range that no subprogram holds yet? */
bool walk_wants(const struct walk *w, struct die_range range);

/** The first pc at or after `address`. */
size_t walk_lower_bound(const struct walk *w, uint64_t address);

/**
 * Take the pcs that the unit's subprograms hold, and their chains. `is_full`: look also into what
 * holds no wanted address itself (functions nested in others, in types).
 */
void walk_unit(struct walk *w, const struct unit *unit, bool is_full);

/** Forget the links of the unit at work. */
void walk_next_unit(struct walk *w);

// ---- from the functions that a walk found at an address to names, files and lines: answer.c

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
