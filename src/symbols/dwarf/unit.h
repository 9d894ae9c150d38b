// SPDX-License-Identifier: MIT
#pragma once
/** Reading DWARF: units, DIEs, and the walk that answers for addresses. */

#include "symbols/files/files.h"
#include "symbols/names/names.h"

#include <dwarf.h>
#include <elfutils/libdw.h>

// ---- which units must be read for some addresses
//
// Without elfutils, which reads files from the beginning. DWARF 5, 6.1.2. Safe for any bytes.

#define AHEAD_NONE UINT64_MAX

/**
 * units[i]: offset in .debug_info of the first unit with pcs[i] by .debug_aranges; AHEAD_NONE: that
 * table, maybe incomplete, lacks it. `pcs` are sorted. False: excessive overlaps.
 */
bool ahead_units(struct slice aranges, const uint64_t *pcs, size_t n, uint64_t *units);

// ---- split DWARF
//
// The program keeps a skeleton of each unit, with its line table and addresses; the functions are
// in a .dwo file, or all of them in one .dwp package.

struct die_range {
	uint64_t start, end;
};

/** Sections of which a unit has a part, numbered as the columns of a package's index. */
enum split_part {
	SPLIT_INFO = 1,
	SPLIT_ABBREV = 3,
	SPLIT_STR_OFFSETS = 6,
	SPLIT_RNGLISTS = 8,
	SPLIT_N_PARTS,
};

/** What all split units of a module share. Zeroed but for the first four. */
struct split_source {
	const struct module_files *files;
	const struct mapped_file *program; // with the skeletons
	const struct symbols_options *options;
	const char *module_path;
	struct mapped_file package; // .dwp, if any
	bool is_ready;
	struct slice addresses, ranges; // the program's .debug_addr and .debug_ranges
	struct slice index, strings;    // the package's
	struct slice parts[SPLIT_N_PARTS];
	struct arena arena;
};

void split_source_finish(struct split_source *s);

/** The other half of a unit. Zeroed: not a split unit. */
struct split {
	unsigned version;
	uint64_t base;          // the unit's low pc
	struct slice addresses; // from the unit's base on
	struct slice ranges;    // version 4: the program's, from the base on; 5: the unit's range lists
	struct slice strings, string_offsets;
	struct mapped_file file; // its .dwo
	Elf *elf;
	Dwarf *handle;
	Dwarf_Die root;
	struct arena arena;
};

/** Find and open a skeleton unit's other half, which must have its id. False: there is none. */
bool split_open(struct split *s, struct split_source *source, Dwarf_Die *skeleton);
void split_close(struct split *s);

/** The unit's part of the program's .debug_addr. */
struct slice split_addresses(struct split_source *source, Dwarf_Die *skeleton);

/** An address by its number; 0: none. */
uint64_t split_address_at(struct slice addresses, uint64_t index);

/** The text of a split unit's attribute, or NULL. */
const char *split_text(const struct split *s, Dwarf_Attribute *attribute);

/** A position in a split unit's range list. */
struct split_ranges {
	struct cursor at;
	uint64_t base;
};

/** `attribute` is a DW_AT_ranges. */
void split_ranges_init(struct split_ranges *r, const struct split *s, Dwarf_Attribute *attribute);
bool split_ranges_next(struct split_ranges *r, const struct split *s, struct die_range *out);

// ---- the wanted attributes of a DIE, read in one pass

struct unit;

struct die_facts {
	Dwarf_Attribute low, high, ranges; // .form 0: missing, also below
	Dwarf_Attribute origin;            // abstract origin or specification
	Dwarf_Attribute linkage_name, name;
	Dwarf_Attribute call_file, call_line;
	Dwarf_Attribute allocates; // of a call: the allocated type
};

// LLVM 22, https://github.com/llvm/llvm-project/pull/132073; not yet in elfutils' header
enum { DW_AT_LLVM_alloc_type = 0x3e0e };

struct die_facts die_facts(Dwarf_Die *die);

/** The value of a constant attribute, or 0. */
uint64_t die_number(Dwarf_Attribute *attribute);

/** The text of its own DW_AT_name; or NULL. */
const char *die_own_name(const struct unit *unit, Dwarf_Die *die);

/**
 * Iterates over the code of a DIE, without what the linker discarded (at 0, 1, or before all code).
 */
struct die_ranges {
	const struct unit *unit;
	Dwarf_Die *die;
	ptrdiff_t next; // elfutils' position
	Dwarf_Addr base;
	struct die_range only;     // from low and high pc
	struct split_ranges split; // of a split unit
	bool is_list, is_done;
};

struct die_ranges die_ranges_init(const struct unit *unit, Dwarf_Die *die, struct die_facts *facts);
bool die_ranges_next(struct die_ranges *r, struct die_range *out);

/** The child of `parent` that is or contains the DIE at `target`. */
bool die_child_towards(Dwarf_Die *parent, Dwarf_Off target, Dwarf_Die *out);

/** A function's names, along its abstract origin and specification, also in other units. */
struct die_name {
	const char *linkage; // or NULL
	const char *plain;   // or NULL
	Dwarf_Die declared;  // the last in that chain: its position gives the scopes
};
struct die_name die_name(const struct unit *unit, Dwarf_Die *die, struct die_facts facts);

/** "ns::Class::plain", from the scopes around `declared`. `n_functions`: nested so far. */
const char *die_qualified(const struct die_name *name, const struct unit *unit,
		struct arena *scratch, int n_functions);

/**
 * A demangled name of Rust's legacy scheme with its parameters filled in:
 * "alloc::vec::Vec<u8>::push" for "alloc::vec::Vec<T>::push"; unchanged if they are unknown.
 */
const char *generics_filled(const char *function, const struct unit *unit,
		const struct die_name *name, struct arena *arena);

// ---- DWARF of one module, through elfutils
//
// Units and their ranges are listed once, for a compressed file perhaps only requested ones; a
// query then walks only units with a requested address, and frees elfutils' memory every few.

struct debug_data;

/** Open the DWARF of the files, which must outlive it. NULL: none. */
struct debug_data *debug_data_create(const struct module_files *files,
		const struct symbols_options *options, const char *module_path);
void debug_data_destroy(struct debug_data *d);

/** What is asked, and where the answers go. */
struct debug_question {
	const uint64_t *pcs; // sorted
	size_t n;
	const struct symbol_table *table; // for what DWARF gives no linkage name
	struct name_pool *pool;
	struct symbols_answer *answers; // unchanged if there is no answer
};

/** Fill in chains of inlined calls, or if no function is known, a frame with only file and line. */
void debug_data_ask(struct debug_data *d, const struct debug_question *q);

/**
 * Where the variable of `table` at `start` is declared; `out` is zeroed, its function is the
 * variable. The first call searches all variables. All calls together take at most a second of CPU
 * time: in programs with more DWARF some are not found.
 */
void debug_data_declared(struct debug_data *d, const struct symbol_table *table, uint64_t start,
		struct name_pool *pool, struct symbols_frame *out);

// ---- one compile unit at work

struct unit {
	Dwarf_Die lines_die; // of the unit with the line table
	Dwarf_Die tree_die;  // of the unit with the functions: the same unless split
	uint64_t first_code; // of the module: no code below it
	enum names_scheme scheme;
	const struct split *split; // NULL: not split
};

/** A function in the chain of an address: a subprogram, or an inlined call in it. */
struct chain_link {
	Dwarf_Die die;
	uint32_t outer; // its index + 1 in the walk's links; 0: this is the subprogram
	uint32_t depth; // in the tree
};

/** A possible location expression of a variable in its DIE. */
struct variable {
	uint64_t address;
	Dwarf_Off unit; // its first DIE
	size_t at;      // offset from there
};

struct variables {
	VEC(struct variable);
	uint64_t cost; // bytes searched, and similar costs; 0: none yet
};

/** Add a unit's. `addresses`: its indexed ones. */
void variables_search(struct variables *v, struct unit *unit, struct slice addresses,
		const struct symbol_table *table);

/** The DIE of one of the unit's variables. False: none. */
bool variables_find(struct variables *v, size_t number, struct unit *unit, Dwarf_Die *out);

/** What a walk has found at a pc. */
struct walked {
	uint32_t owner; // the subprogram that holds it; 0: none yet
	uint32_t head;  // the innermost link + 1, in the current unit
	uint32_t call;  // the link + 1 of a call with an allocated type; 0: none
};

/** The walk of one unit, and the progress over all units. */
struct walk {
	const uint64_t *pcs;
	size_t n;
	struct walked *found; // at each pc
	uint32_t n_subprograms;
	VEC(struct chain_link) links; // of the current unit
	VEC(uint32_t) claimed;        // pcs that the current unit took
};

struct walk walk_init(const uint64_t *pcs, size_t n);
void walk_finish(struct walk *w);

/** Is there a pc in the range without a subprogram yet? */
bool walk_wants(const struct walk *w, struct die_range range);

/**
 * Take the pcs in the unit's subprograms, and their chains. `is_full`: also look into what holds no
 * wanted address itself (functions nested in others, in types).
 */
void walk_unit(struct walk *w, const struct unit *unit, bool is_full);

/** Forget the links of the current unit. */
void walk_next_unit(struct walk *w);

// ---- from what a walk found to names, files and lines: answer.c

/** A unit and the question that it is asked. */
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

/** For pcs in the unit without a function (assembler): only the line, if any. */
void answer_lines(struct asking *a, struct die_range range);
