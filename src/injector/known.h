// SPDX-License-Identifier: MIT
#pragma once

/** The functions that allocate and free, by their names: of C libraries, allocators, C++ and Nim. */

#include <stdbool.h>
#include <stdint.h>

struct known_function {
	const char *name;               // behind an allocator's prefix
	uint8_t what, ptr, size, times; // as struct resident_hook has them
	bool is_nim_free;               // counts only beside Nim's allocator
	bool is_behind_header;          // of Nim's objects: the block begins before what it is given
	bool is_operator;               // of C++: counts only where it reaches blocks by itself
	const char *shown;              // for people, where the name is not; else NULL
	const char *quiet; // of RESIDENT_ALLOCATES_OR_THROWS: the same, but it returns NULL
};

/** NULL: none of them. */
const struct known_function *known_function_of(const char *name);

/** Cheap: false of most names. */
bool known_may_be(const char *name);
