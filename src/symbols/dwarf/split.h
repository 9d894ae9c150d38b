// SPDX-License-Identifier: MIT
#pragma once
/**
 * Split DWARF, of which the program has only one half.
 *
 * The program keeps a skeleton of each unit, with its line table and its addresses; the functions
 * are in a .dwo file, or all of them in one .dwp package.
 */

#include "symbols/files/files.h"

#include <elfutils/libdw.h>

struct die_range {
	uint64_t start, end;
};

/** Sections that a unit has a part of, as the columns of a package's index are numbered. */
enum split_part {
	SPLIT_INFO = 1,
	SPLIT_ABBREV = 3,
	SPLIT_STR_OFFSETS = 6,
	SPLIT_RNGLISTS = 8,
	SPLIT_N_PARTS,
};

/** What all split units of a module share. Zeroed but for its first four. */
struct split_source {
	const struct module_files *files;
	const struct mapped_file *program; // with the skeletons
	const struct symbols_options *options;
	const char *module_path;
	struct mapped_file package; // .dwp, if there is one
	bool is_ready;
	struct slice addresses, ranges; // .debug_addr and .debug_ranges of the program
	struct slice index, strings;    // of the package
	struct slice parts[SPLIT_N_PARTS];
	struct arena arena;
};

void split_source_finish(struct split_source *s);

/** The other half of one unit. A zeroed struct: not a split unit. */
struct split {
	unsigned version;
	uint64_t base;          // the unit's low pc
	struct slice addresses; // from the unit's base on
	struct slice ranges; // version 4: of the program, from the base on; 5: the unit's range lists
	struct slice strings, string_offsets;
	struct mapped_file file; // its .dwo
	Elf *elf;
	Dwarf *handle;
	Dwarf_Die root;
	struct arena arena;
};

/** True if `unit_die` is a skeleton. */
bool split_is_skeleton(Dwarf_Die *unit_die);

/** Find and open the other half of a skeleton, which must have its id. False: there is none. */
bool split_open(struct split *s, struct split_source *source, Dwarf_Die *skeleton);
void split_close(struct split *s);

/** The text of an attribute of a split unit; NULL: there is none. */
const char *split_text(const struct split *s, Dwarf_Attribute *attribute);

/** A range list of a split unit, and where in it we are. */
struct split_ranges {
	struct cursor at;
	uint64_t base;
};

/** `attribute` is a DW_AT_ranges. */
void split_ranges_init(struct split_ranges *r, const struct split *s, Dwarf_Attribute *attribute);
bool split_ranges_next(struct split_ranges *r, const struct split *s, struct die_range *out);
