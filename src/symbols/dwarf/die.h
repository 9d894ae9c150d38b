// SPDX-License-Identifier: MIT
#pragma once
/** The attributes that are wanted of one DIE, read in one pass. */

#include "symbols/dwarf/split.h"
#include "symbols/names/names.h"

struct unit;

struct die_facts {
	Dwarf_Attribute low, high, ranges; // .form 0: not there, as for all below
	Dwarf_Attribute origin;            // abstract origin or specification
	Dwarf_Attribute linkage_name, name;
	Dwarf_Attribute call_file, call_line;
};

void die_facts(struct die_facts *out, Dwarf_Die *die);

/** The value of a constant attribute; 0 if it is not there. */
uint64_t die_number(Dwarf_Attribute *attribute);

/** The text of an attribute, or NULL. */
const char *die_text(const struct unit *unit, Dwarf_Attribute *attribute);

/**
 * An iterator over the code of a DIE. Ranges of code that the linker threw away (they start at 0
 * or 1, or before all code) are passed over.
 */
struct die_ranges {
	const struct unit *unit;
	Dwarf_Die *die;
	ptrdiff_t next; // elfutils' place
	Dwarf_Addr base;
	struct die_range only;     // of low and high pc
	struct split_ranges split; // of a split unit
	bool is_list, is_done;
};

void die_ranges_init(struct die_ranges *r, const struct unit *unit, Dwarf_Die *die,
		struct die_facts *facts);
bool die_ranges_next(struct die_ranges *r, struct die_range *out);

/** Names of a function, along its abstract origin and specification, also in other units. */
struct die_name {
	const char *linkage; // NULL: none
	const char *plain;   // NULL: none
	Dwarf_Die declared;  // the end of the way: its place says the scopes
};
void die_name(struct die_name *out, const struct unit *unit, Dwarf_Die *die,
		struct die_facts *facts);

/** "ns::Class::plain", by the scopes around `declared`. NULL: no memory. */
const char *die_qualified(const struct die_name *name, const struct unit *unit,
		struct arena *scratch);
