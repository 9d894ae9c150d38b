// SPDX-License-Identifier: MIT
#pragma once
/**
 * Where CPython keeps its threads, frames and functions, and what its functions are called.
 *
 * Works on bytes and on memory that is read through a function, and trusts neither. Any thread.
 */

#include "elf/image.h"
#include "wire/runtime.h"

/**
 * Look for CPython in an executable or library whose address in the program is `bias` plus that in
 * the file. `layout` gets all but its image, or the version alone if that is not known. False: it
 * is no interpreter.
 */
bool python_find(const struct elf_image *e, uint64_t bias, struct wire_layout *layout);

/** All of a version's layout but addresses. False: it is not known. */
bool python_layout_of(uint16_t version, struct wire_layout *layout);

/**
 * Prove a layout in the program: a thread is found whose frames end, all of functions. NULL:
 * proved; else what does not fit, which may do so a little later.
 */
const char *python_prove(const struct wire_layout *layout, const struct program_memory *memory);

/** What it says of an interpreter that has not begun, when all that can be proved is proved. */
extern const char python_not_begun[];

/** A function. */
struct python_code {
	struct slice name, file; // UTF-8, in the arena
	struct slice line_table; // PEP 657, in the excerpt
	uint32_t first_line;
};

/** Decode an excerpt. False: it makes no sense. */
bool python_decode(struct slice excerpt, const struct wire_layout *layout, struct python_code *out,
		struct arena *arena);

/** The line of a position of wire/segment.h, of which 0 is somewhere. 0: it has none. */
uint32_t python_line(const struct python_code *code, uint32_t position);

// ---- what blocks are

/** Types that were met of a program whose layout was proved. `known` is to be finished. */
struct python_types {
	const struct wire_layout *layout; // NULL: there are but those in `known`
	struct program_memory memory;
	struct texts *names; // to which theirs are added
	struct map known;    // by address: words before an object, and its name << 3
};

enum { PYTHON_HEAD_WORDS = 6 };

/**
 * The type's name of the object that a block of `bytes` begins with, by its first words, as far as
 * it has them. 0: not known.
 */
uint32_t python_type_of(struct python_types *t, const uint64_t words[PYTHON_HEAD_WORDS],
		uint64_t bytes);
