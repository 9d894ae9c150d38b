// SPDX-License-Identifier: MIT
#pragma once

/** Functions of a process that allocate or free, as they were found: one entry per address. */

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
	const char *why_not; // not NULL: it was found, but cannot be hooked
};

struct found_functions {
	struct found_function *items;
	size_t n, capacity;
};

/** Add a module's function at `address`, as `known` has it, which outlives it. NULL: no memory. */
struct found_function *found_add(struct found_functions *out, const struct module_code *module,
		const struct known_function *known, uint64_t address, uint64_t size);
