// SPDX-License-Identifier: MIT
#pragma once
/**
 * Names and paths of an answer: each distinct one is demangled or normalized once, in its arena.
 */

#include "elf/image.h"

enum names_scheme {
	NAMES_MARKED, // demangled if prefixed as C++, Rust or D
	NAMES_C,      // the unit is C: never demangled
	NAMES_NIM,    // as NAMES_MARKED; names without prefix may be Nim's
	NAMES_PATH,   // a path
	NAMES_TEXT,   // unchanged
};

/** The part of `linkage_name` without a clone's suffixes and a version. */
struct slice names_without_suffixes(const char *linkage_name);

/**
 * Demangle C++ (Itanium), Rust (legacy and v0, without hash and disambiguators), D and Nim for
 * display, without `.llvm.N`, `.part.N`, `.constprop.N`, `.isra.N`, `.cold`. C names stay.
 */
const char *names_demangle(const char *linkage_name, enum names_scheme scheme, struct arena *arena);

struct name {
	const char *symbol;   // as given
	const char *function; // for display
};

struct name_pool {
	struct arena *arena; // of the answer
	VEC(struct name_item);
	struct index index; // by scheme and given text
};

/** Texts live in the pool's arena. */
struct name name_pool_get(struct name_pool *pool, const char *text, enum names_scheme scheme);

void name_pool_finish(struct name_pool *pool);

// ---- the functions or variables of a module by address, from symbol tables
//
// Call symbol_table_add for each, then symbol_table_sort, then look up; vec_finish ends it.

struct symbol_entry {
	uint64_t start, end;
	uint64_t reach;   // the largest end of this and all earlier entries
	const char *name; // in its image
	uint8_t rank;     // of several at one address, the lowest is shown
	bool is_sized;
};

struct symbol_table {
	VEC(struct symbol_entry);
	bool is_nim; // has NimMain
};

/** Add those of one table (SHT_SYMTAB, SHT_DYNSYM); names stay in the image. */
enum symbol_sort { SYMBOL_FUNCTIONS, SYMBOL_VARIABLES };
void symbol_table_add(struct symbol_table *t, const struct elf_image *image, uint32_t section_type,
		enum symbol_sort sort);

void symbol_table_sort(struct symbol_table *t);

/**
 * The innermost function at an address, a sized one, else an unsized one up to the next, or NULL.
 */
const struct symbol_entry *symbol_table_find(const struct symbol_table *t, uint64_t address);
