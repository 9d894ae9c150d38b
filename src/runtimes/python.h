// SPDX-License-Identifier: MIT
#pragma once
/** CPython's threads, frames, functions and their names, from untrusted bytes. Any thread. */

#include "elf/image.h"
#include "wire/runtime.h"

/**
 * Find CPython in an executable or library loaded at `bias`. `layout` receives all but its image,
 * or of an unknown version only that. False: it is no interpreter.
 */
bool python_find(const struct elf_image *e, uint64_t bias, struct wire_layout *layout);

/** All of a version's layout but addresses. False: unknown version. */
bool python_layout_of(uint16_t version, struct wire_layout *layout);

/**
 * Prove a layout in the program: find a thread whose stack of frames ends, all of functions. NULL:
 * proved; else what does not fit, which may be so only for the moment.
 */
const char *python_prove(const struct wire_layout *layout, const struct program_memory *memory);

/** Its answer if no function runs (it has not begun, is between calls) and all else is proved. */
extern const char python_idle[];

struct python_code {
	struct slice name, file; // UTF-8, in the arena
	struct slice line_table; // PEP 657, in the excerpt
	uint32_t first_line;
};

/** Decode an excerpt. False: it is malformed. */
bool python_decode(struct slice excerpt, const struct wire_layout *layout, struct python_code *out,
		struct arena *arena);

/** The line of a position as in wire/segment.h, where 0 is anywhere. 0: it has none. */
uint32_t python_line(const struct python_code *code, uint32_t position);

// ---- types of blocks

/** Types met in a program with a proved layout. The caller frees `known` (map_finish). */
struct python_types {
	const struct wire_layout *layout; // NULL: only those in `known`
	struct program_memory memory;
	struct texts *names; // where their names are added
	struct map known;    // by address: words before an object, and its name << 3
};

enum { PYTHON_HEAD_WORDS = 6 };

/** The type name of the object that fills a block of `bytes`, by its first words. 0: not known. */
uint32_t python_type_of(struct python_types *t, const uint64_t words[PYTHON_HEAD_WORDS],
		uint64_t bytes);
