// SPDX-License-Identifier: MIT
#pragma once

/**
 * Which functions of a process allocate memory: by their names in the symbol tables of its modules,
 * dynamic and static, with the prefixes that allocators are built with; in a static program that has
 * none, by what glibc's look like (injector/find/stripped.h). One entry per address.
 */

#include "injector/find/known.h"
#include "injector/space.h"
#include "wire/resident.h"

struct found_function {
	const char *name;   // for people; lives as long as the modules
	const char *module; // path
	uint64_t address, size;
	uint64_t module_start, module_end;
	uint8_t what, ptr, size_register, times, behind; // as struct resident_hook has them
	uint64_t quiet_at; // of one that throws: the function that returns NULL instead
	const struct known_function *known;
	const char *why_not; // not NULL: it is seen, but cannot be hooked
};

struct found_functions {
	struct found_function *items;
	size_t n, capacity;
};

/** A function of a module at `address`, as what is known of its name has it. `known` outlives it. */
struct found_function found_of(const struct module_code *module, const struct known_function *known,
		uint64_t address, uint64_t size);

/** False: out of memory. */
bool find_functions(struct found_functions *out, const struct modules_code *modules,
		struct err *err);

/** No names, and no loader that would bring others? */
bool find_is_stripped_static(const struct module_code *module);

/** Does a program define functions that allocate and free, be it for itself alone? */
bool find_defines_allocator(const struct elf_image *image);

/** Does it have a name for one that allocates, at least? A static program need not free. */
bool find_names_allocation(const struct elf_image *image);

/**
 * The functions of an allocator that `m` has for itself: of a library, local ones, and exported ones that
 * `is_hidden` says nobody stands in for. Their names with ", " between them. 0: it does not both allocate and free.
 */
uint32_t find_own_allocator(const struct module_code *m,
		bool (*is_hidden)(const void *user, const char *name), const void *user, char *names,
		size_t size);

/** The address of one symbol; 0: there is none. `module` as the end of its path, or NULL for any. */
uint64_t find_symbol(const struct modules_code *modules, const char *module, const char *name);
