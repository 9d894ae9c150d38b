// SPDX-License-Identifier: MIT
#pragma once
/**
 * Which functions of a process allocate and free memory. They are found by name in the symbol
 * tables of its modules, dynamic and static, with the prefixes that allocators are built with; in a
 * static program without symbols, by what glibc's code looks like (stripped.c).
 */

#include "injector/arch/code.h"
#include "injector/space.h"
#include "wire/resident.h"

// ---- the names of functions that allocate and free: wire/allocators.def and Nim's; any thread

/** Functions of Nim that its allocator may be inlined into: they count only beside it. */
enum known_nim {
	KNOWN_NOT_NIM = 0,
	KNOWN_NIM_BLOCK,    // takes or returns a block, which with refc has a header before it
	KNOWN_NIM_DISPOSES, // frees objects of arc or orc, whose headers differ
	KNOWN_NIM_OBJECT,   // makes objects of refc, which have a header
};

struct known_function {
	const char *name;               // Nim: the part before "__system"
	uint8_t what, ptr, size, times; // as struct resident_hook has them
	enum known_nim nim;
	bool is_operator;   // of C++: counts only where it reaches blocks by itself
	const char *shown;  // for people, where the name is not; else NULL
	const char *quiet;  // of one that throws: its twin that returns NULL
	const char *family; // as known_family says, where the name does not; else NULL
};

const struct known_function *known_function_of(const char *name);

/** An allocator's prefix, if others use its names: they count only beside its `free`. Or NULL. */
const char *known_family(const struct known_function *f);

/**
 * A function hooked where an allocator is, though it allocates nothing: those of wire/mappings.def,
 * and prctl, which may forbid the clock that the recorder reads. NULL: none of them.
 */
const struct known_function *known_beside(const char *name);

// ---- what the names in symbol tables tell, without a look at instructions

/** Is it a function, and defined here? */
bool find_is_code(const struct elf_symbol *symbol);

/** What is known of a function by its name; NULL: nothing. */
const struct known_function *find_known(const struct elf_symbol *symbol);

/** The function of that name, exported or not. */
bool find_code(const struct module_code *module, const char *name, struct elf_symbol *out);

/** The address of an exported name; 0: none. `module`: the start of its file's name, or NULL. */
uint64_t find_symbol(const struct modules_code *modules, const char *module, const char *name);

/** Does it have the `free` of the allocator whose other names begin with `family`? */
bool find_has_free_of(const struct module_code *module, const char *family);

/** Is it the loader, whose small allocator serves only itself until there is another? */
bool find_is_loader(const struct module_code *module);

/** Does it only wrap the allocator behind it, which is the one that counts? */
bool find_is_of_tool(const struct module_code *module);

// ---- which functions of a process allocate and free memory

struct found_function {
	const char *name;   // for people; lives as long as the modules
	const char *module; // path
	uint64_t address, size;
	uint64_t module_start, module_end;
	uint8_t what, ptr, size_register, times, behind; // as struct resident_hook has them
	uint64_t quiet_at; // of one that throws: its twin that returns NULL
	const struct known_function *known;
	const char *why_not; // not NULL: why it cannot be hooked
	bool is_dropped;     // while functions are judged
};

/** One entry per address. */
struct found_functions {
	VEC(struct found_function);
};

/** Does it allocate nothing, and is hooked for another reason? */
static inline bool found_is_beside(const struct found_function *f) {
	return f->what >= RESIDENT_CONFINES;
}

/** Add a module's function at `address`; `known` outlives it. NULL: out of memory. */
static inline struct found_function *found_add(struct found_functions *out,
		const struct module_code *module, const struct known_function *known, uint64_t address,
		uint64_t size) {
	struct found_function *item = vec_push(out);
	if (item) {
		*item = (struct found_function){
				FIELDS_OF(known, name, what, ptr, times),
				.module = module->name,
				.address = address,
				.size = size,
				.module_start = module->start,
				.module_end = module->end,
				.size_register = known->size,
				.known = known,
		};
	}
	return item;
}

/** False: out of memory. */
bool find_functions(struct found_functions *out, const struct modules_code *modules,
		struct err *err);

/** Has it neither symbols nor a loader that would bring in others? */
bool find_is_stripped_static(const struct module_code *module);

// ---- parts with files of their own

/**
 * Add glibc's allocation functions in a static program without symbols, if malloc, free, calloc and
 * realloc are all recognized beyond doubt; else nothing. memalign is added, too, or the reason why
 * it cannot be hooked. False: out of memory.
 */
bool stripped_find(struct found_functions *out, const struct module_code *module);

/**
 * The code of glibc that frees a thread's cached blocks when the thread ends, in each C library; 0
 * bytes: none found.
 *
 * glibc keeps freed blocks in a list of the thread (tcache), and frees them again, and the list,
 * when the thread ends. The program freed the blocks before and never saw the list, so the recorder
 * skips frees from there.
 */
void thread_cache_find(const struct modules_code *modules,
		struct resident_range caches[RESIDENT_THREAD_CACHES]);

// ---- functions of a file without symbols, bounded by unwind tables, and who refers to whom
//
// Addresses are the file's, its bytes are borrowed.

struct code_function {
	uint64_t address, size;
};

struct code_map {
	const struct elf_image *image;
	VEC(struct code_function) functions; // ascending
};

#define CODE_NO_FUNCTION UINT32_MAX

enum { CODE_USERS_MAX = 64 };

/** Indexes of functions of a map, each once. */
struct code_users {
	uint32_t items[CODE_USERS_MAX];
	size_t n;
	bool is_whole; // false: there were more
};

/** False: no readable unwind tables, or no memory. */
bool code_map_init(struct code_map *m, const struct elf_image *image);
void code_map_finish(struct code_map *m);

/** The index of the function at `address`, or CODE_NO_FUNCTION. */
uint32_t code_map_function_at(const struct code_map *m, uint64_t address);

struct function_code code_map_code(const struct code_map *m, uint32_t function);

/**
 * Who refers to a function: calls it, jumps there, or makes a pointer to it (relative to the
 * instruction, or a constant). CODE_NO_FUNCTION: nobody, and not whole.
 */
struct code_users code_map_users(const struct code_map *m, uint32_t function);

/** Who refers to a text in read-only data, terminating 0 included. */
struct code_users code_map_users_of_text(const struct code_map *m, const char *text);

bool code_users_have(const struct code_users *users, uint32_t function);

/** Does another function call it or jump to it? */
bool code_map_is_called(const struct code_map *m, uint32_t function);

/** Does a function call, jump to or point to the beginning of another? */
bool code_map_refers(const struct code_map *m, uint32_t user, uint32_t used);
