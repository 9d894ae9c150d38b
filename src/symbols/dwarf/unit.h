// SPDX-License-Identifier: MIT
#pragma once
/** One compile unit at work. */

#include "symbols/files/files.h"
#include "symbols/names/names.h"

#include <dwarf.h>
#include <elfutils/libdw.h>

// ---- which units must be read for some addresses
//
// Not by elfutils, which reads a file from its beginning. DWARF 5, section 6.1.2. Bytes of any file
// are fine.

#define AHEAD_NONE UINT64_MAX

/**
 * units[i]: where in .debug_info the unit begins that holds pcs[i], by .debug_aranges; the first,
 * if there are several. AHEAD_NONE: the table, which need not be complete, knows of none. `pcs` are
 * not descending. False: ranges lie upon each other beyond reason.
 */
bool ahead_units(struct slice aranges, const uint64_t *pcs, size_t n, uint64_t *units);

// ---- split DWARF, of which the program has only one half
//
// The program keeps a skeleton of each unit, with its line table and its addresses; the functions
// are in a .dwo file, or all of them in one .dwp package.

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

/**
 * Find and open the other half of a unit that is a skeleton, which must have its id. False: it is
 * none, or there is none.
 */
bool split_open(struct split *s, struct split_source *source, Dwarf_Die *skeleton);
void split_close(struct split *s);

/** The part of the program's .debug_addr that a unit numbers its addresses by. */
struct slice split_addresses(struct split_source *source, Dwarf_Die *skeleton);

/** An address by its number. 0: there is none. */
uint64_t split_address_at(struct slice addresses, uint64_t index);

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

// ---- the attributes that are wanted of one DIE, read in one pass

struct unit;

struct die_facts {
	Dwarf_Attribute low, high, ranges; // .form 0: not there, as for all below
	Dwarf_Attribute origin;            // abstract origin or specification
	Dwarf_Attribute linkage_name, name;
	Dwarf_Attribute call_file, call_line;
	Dwarf_Attribute allocates; // of a call: the type of what it allocates
};

// LLVM 22, https://github.com/llvm/llvm-project/pull/132073; elfutils' header does not have it
enum { DW_AT_LLVM_alloc_type = 0x3e0e };

struct die_facts die_facts(Dwarf_Die *die);

/** The value of a constant attribute; 0 if it is not there. */
uint64_t die_number(Dwarf_Attribute *attribute);

/** The text of an attribute, or NULL; and that of its own DW_AT_name. */
const char *die_text(const struct unit *unit, Dwarf_Attribute *attribute);
const char *die_own_name(const struct unit *unit, Dwarf_Die *die);

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

struct die_ranges die_ranges_init(const struct unit *unit, Dwarf_Die *die, struct die_facts *facts);
bool die_ranges_next(struct die_ranges *r, struct die_range *out);

/** The child of `parent` that is, or is around, the DIE at `target`. */
bool die_child_towards(Dwarf_Die *parent, Dwarf_Off target, Dwarf_Die *out);

/** Names of a function, along its abstract origin and specification, also in other units. */
struct die_name {
	const char *linkage; // NULL: none
	const char *plain;   // NULL: none
	Dwarf_Die declared;  // the end of the way: its place says the scopes
};
struct die_name die_name(const struct unit *unit, Dwarf_Die *die, struct die_facts facts);

/**
 * "ns::Class::plain", by the scopes around `declared`. `n_functions`: of so many functions, one in
 * the other, this one is a scope.
 */
const char *die_qualified(const struct die_name *name, const struct unit *unit,
		struct arena *scratch, int n_functions);

/**
 * A demangled name of Rust's old scheme with what its parameters are: "alloc::vec::Vec<u8>::push"
 * for "alloc::vec::Vec<T>::push"; as it is where that is not said.
 */
const char *generics_filled(const char *function, const struct unit *unit,
		const struct die_name *name, struct arena *arena);

// ---- DWARF of one module, through elfutils
//
// The units and their ranges are listed once, for a compressed file perhaps only those that were
// requested; a query then walks only the units that contain a requested address, and the memory
// that elfutils takes for them is released every few units.

struct debug_data;

/** Open the DWARF of the files; they are borrowed and must outlive it. NULL: there is none. */
struct debug_data *debug_data_create(const struct module_files *files,
		const struct symbols_options *options, const char *module_path);
void debug_data_destroy(struct debug_data *d);

/** What is asked, and where the answers go. */
struct debug_question {
	const uint64_t *pcs; // not descending
	size_t n;
	const struct symbol_table *table; // names what DWARF has no linkage name for
	struct name_pool *pool;
	struct symbols_answer *answers; // those without an answer are left alone
};

/**
 * Answer from DWARF: the chain of inlined calls, or, if no function is known, one frame with file
 * and line but no name.
 */
void debug_data_ask(struct debug_data *d, const struct debug_question *q);

/**
 * Where the variable of `table` that begins at `start` is declared. `out`, zeroed: its function is
 * the variable. All variables are looked for once, and all that is asked together takes a second of
 * CPU time at most: of a program with more DWARF, some are not found.
 */
void debug_data_declared(struct debug_data *d, const struct symbol_table *table, uint64_t start,
		struct name_pool *pool, struct symbols_frame *out);

// ---- one compile unit at work

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

/** What may be the place of a variable in its DIE. */
struct variable {
	uint64_t address;
	Dwarf_Off unit; // its first DIE
	size_t at;      // from there on
};

struct variables {
	VEC(struct variable);
	uint64_t cost; // bytes that were searched, and others like them; 0: none yet
};

/** Add those of a unit. `addresses`: what it has by number. */
void variables_search(struct variables *v, struct unit *unit, struct slice addresses,
		const struct symbol_table *table);

/** The DIE of one of them, of that unit. False: it is none. */
bool variables_find(struct variables *v, size_t number, struct unit *unit, Dwarf_Die *out);

/** What a walk has found at a pc. */
struct walked {
	uint32_t owner; // the number of the subprogram that holds it; 0: none yet
	uint32_t head;  // the innermost link + 1, in the unit at work
	uint32_t call;  // the link + 1 of a call that says what it allocates; 0: none
};

/** The walk of one unit, and for how far it is with all units. */
struct walk {
	const uint64_t *pcs;
	size_t n;
	struct walked *found; // at each pc
	uint32_t n_subprograms;
	VEC(struct chain_link) links; // of the unit at work
	VEC(uint32_t) claimed;        // pcs that the unit at work took
};

struct walk walk_init(const uint64_t *pcs, size_t n);
void walk_finish(struct walk *w);

/** Is there a pc in the range that no subprogram holds yet? */
bool walk_wants(const struct walk *w, struct die_range range);

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

/** Say where the variable that a DIE defines is declared. */
void answer_variable(struct asking *a, Dwarf_Die *die, struct symbols_frame *out);

/** Turn the chain of pc number `i` into its answer. */
void answer_chain(struct asking *a, size_t i);

/** For pcs in the unit that no function holds (assembler): the line alone, if there is one. */
void answer_lines(struct asking *a, struct die_range range);
