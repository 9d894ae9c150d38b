// SPDX-License-Identifier: MIT
#pragma once

/**
 * The functions that allocate and free, by their names: those of wire/allocators.def, and Nim's. Any
 * thread.
 */

#include <stdbool.h>
#include <stdint.h>

/** Of Nim, whose optimiser puts its allocator's functions into these: they count only beside it. */
enum known_nim {
	KNOWN_NOT_NIM = 0,
	KNOWN_NIM_BLOCK,    // in programs with refc a head is before what it is given, or gives
	KNOWN_NIM_DISPOSES, // of arc's and orc's objects, whose heads differ
	KNOWN_NIM_OBJECT,   // makes refc's objects, which have a head
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
 * The prefix of an allocator whose names are so short that others have them, too: they count only where
 * that allocator's free is. NULL: its name is its own.
 */
const char *known_family(const struct known_function *f);

/** Cheap: false of most names. */
bool known_may_be(const char *name);
