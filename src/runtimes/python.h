// SPDX-License-Identifier: MIT
#pragma once
/**
 * Where CPython keeps its threads, frames and functions, and what its functions are called.
 *
 * Works on bytes and on memory that is read through a function, and trusts neither. Any thread.
 */

#include "base/arena.h"
#include "elf/image.h"
#include "wire/runtime.h"

/** Reads memory of the program. False: it is not there. */
typedef bool (*python_read)(void *user, uint64_t address, void *out, size_t bytes);

enum python_found {
	PYTHON_ABSENT,  // this file is no interpreter
	PYTHON_UNKNOWN, // it is, of a version for which there is no layout
	PYTHON_FOUND,
};

/**
 * Look for CPython in an executable or library whose address in the program is `bias` plus that in
 * the file. `layout` gets all but its image; of an unknown version the version alone.
 */
enum python_found python_find(const struct elf_image *e, uint64_t bias, struct wire_layout *layout);

/** All of a version's layout but addresses. False: there is none. */
bool python_layout_of(uint16_t version, struct wire_layout *layout);

/**
 * Prove a layout in the program: the thread whose pointer is one of `ids` is found, and its frames
 * end, all of functions. The program may run meanwhile: a proof that fails may succeed a little
 * later. NULL: proved; else what does not fit.
 */
const char *python_prove(const struct wire_layout *layout, python_read read, void *user,
		const uint64_t *ids, size_t n_ids);

/** A function, as its excerpt has it. */
struct python_code {
	struct slice name, file; // UTF-8
	struct slice line_table; // PEP 657
	uint32_t first_line;
};

/**
 * Decode an excerpt. Names live in `arena`, the line table in the excerpt. False: it makes no
 * sense.
 */
bool python_decode(struct slice excerpt, uint16_t version, struct python_code *out,
		struct arena *arena);

/** The line of a position of wire/segment.h, of which 0 is somewhere. 0: it has none. */
uint32_t python_line(const struct python_code *code, uint32_t position);
