// SPDX-License-Identifier: MIT
#pragma once
/**
 * The functions of a module by address, from any number of symbol tables.
 * Fill it with symbol_table_add, then symbol_table_sort, then ask.
 */

#include "elf/image.h"

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

/**
 * The functions of one table (SHT_SYMTAB, SHT_DYNSYM); names stay in the image. False: no memory.
 */
bool symbol_table_add(struct symbol_table *t, const struct elf_image *image, uint32_t section_type);

/** False: out of memory. */
bool symbol_table_sort(struct symbol_table *t);

/**
 * The innermost function that holds the address: one with a size if there is one, else one without
 * that reaches to the next. NULL: none; a gap between functions is not the function before it.
 */
const struct symbol_entry *symbol_table_find(const struct symbol_table *t, uint64_t address);

void symbol_table_finish(struct symbol_table *t);
