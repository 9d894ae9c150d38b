// SPDX-License-Identifier: MIT
#pragma once
/**
 * The texts of an answer, names and paths.
 *
 * Each distinct name is demangled once, each distinct path normalized once; what comes out lives in
 * the arena of the answer.
 */

#include "elf/image.h"

enum names_scheme {
	NAMES_MARKED, // demangled if the name bears the mark of C++, Rust or D
	NAMES_C,      // the unit is C: never
	NAMES_NIM,    // as NAMES_MARKED; other names may be Nim's, which have no mark
	NAMES_PATH,   // no name, but a path
	NAMES_TEXT,   // stays as it is
};

/** A copy's suffixes and a version are not part of a name: a part of `linkage_name`. */
struct slice names_without_suffixes(const char *linkage_name);

/**
 * A name for people, from a linkage name: C++ (Itanium), Rust (legacy and v0, without hash and
 * disambiguators), D, Nim; `.llvm.N`, `.part.N`, `.constprop.N`, `.isra.N`, `.cold` dropped. A
 * plain C name comes back unchanged.
 */
const char *names_demangle(const char *linkage_name, enum names_scheme scheme, struct arena *arena);

struct name {
	const char *symbol;   // as it came
	const char *function; // for people
};

struct name_pool {
	struct arena *arena; // of the answer
	VEC(struct name_item);
	struct index index; // of (kind, text as it came)
};

/** The texts live in the arena. */
struct name name_pool_get(struct name_pool *pool, const char *text, enum names_scheme scheme);

void name_pool_finish(struct name_pool *pool);

// ---- the functions or variables of a module by address, from any number of symbol tables
//
// Fill it with symbol_table_add, then symbol_table_sort, then ask; vec_finish ends it.

struct symbol_entry {
	uint64_t start, end;
	uint64_t reach;   // the largest end of this and all entries before
	const char *name; // in the bytes of its image
	uint8_t rank;     // among several at one address the lowest is shown
	bool is_sized;
};

struct symbol_table {
	VEC(struct symbol_entry);
	bool is_nim; // there is a NimMain
};

/** Those of one table (SHT_SYMTAB, SHT_DYNSYM); names stay in the image. */
enum symbol_sort { SYMBOL_FUNCTIONS, SYMBOL_VARIABLES };
void symbol_table_add(struct symbol_table *t, const struct elf_image *image, uint32_t section_type,
		enum symbol_sort sort);

void symbol_table_sort(struct symbol_table *t);

/**
 * The innermost function that holds the address: one with a size if there is one, else one without
 * that reaches to the next. NULL: none; a gap between functions is not the function before it.
 */
const struct symbol_entry *symbol_table_find(const struct symbol_table *t, uint64_t address);
