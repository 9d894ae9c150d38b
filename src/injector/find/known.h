// SPDX-License-Identifier: MIT
#pragma once
/**
 * The names of functions that allocate and free: those of wire/allocators.def, and Nim's. Any
 * thread.
 */

#include "injector/find.h"

/** Functions of Nim that its allocator's may be inlined into: they count only beside it. */
enum known_nim {
	KNOWN_NOT_NIM = 0,
	KNOWN_NIM_BLOCK,    // takes or gives a block, which in programs with refc has a head before it
	KNOWN_NIM_DISPOSES, // frees objects of arc or orc, whose heads differ
	KNOWN_NIM_OBJECT,   // makes objects of refc, which have a head
};

struct known_function {
	const char *name;               // of Nim's, what stands before "__system"
	uint8_t what, ptr, size, times; // as struct resident_hook has them
	enum known_nim nim;
	bool is_operator;  // of C++: counts only where it reaches blocks by itself
	const char *shown; // for people, where the name is not; else NULL
	const char *quiet; // of one that throws: the same, but it returns NULL
};

/** NULL: none of them. */
const struct known_function *known_function_of(const char *name);

/**
 * The prefix of an allocator whose names are so short that others use them, too: they count only
 * where that allocator's `free` is. NULL: the name is unmistakable.
 */
const char *known_family(const struct known_function *f);

/**
 * A function that allocates nothing, but is hooked where an allocator is: those of
 * wire/mappings.def, and prctl, which may forbid the program the clock that the recorder reads.
 * NULL: none of them.
 */
const struct known_function *known_beside(const char *name);

/** Cheap: false of most names. */
bool known_may_be(const char *name);

// ---- what names in symbol tables tell; no instruction is looked at

/** Is it a function, and defined here? */
bool find_is_code(const struct elf_symbol *symbol);

/** What is known of a function by its name; NULL: nothing. */
const struct known_function *find_known(const struct elf_symbol *symbol);

/** The function of that name, exported or not. */
bool find_code(const struct module_code *module, const char *name, struct elf_symbol *out);

/** The address of an exported name; 0: none. `module`: how its file's name begins, or NULL. */
uint64_t find_symbol(const struct modules_code *modules, const char *module, const char *name);

/** Has it the `free` of an allocator whose other names begin like that? */
bool find_has_free_of(const struct module_code *module, const char *family);

/** Is it the loader, whose own small allocator serves itself before there is another? */
bool find_is_loader(const struct module_code *module);

/** Does it only stand in for the allocator behind it, which is the one that counts? */
bool find_is_of_tool(const struct module_code *module);
