// SPDX-License-Identifier: MIT
#pragma once
/** Types of objects of Nim's garbage collector (refc), from the types' symbols. Any thread. */

#include "runtimes/python.h"

struct nim_type {
	uint64_t address;
	const char *name; // as in its symbol
};
struct nim_types {
	VEC(struct nim_type);
};

/** Add the types of a program; their names live in `arena`. */
void nim_find_types(const struct elf_image *e, uint64_t bias, struct arena *arena,
		struct nim_types *out);

/** Have `out`, which has no Python layout then, know them: python_type_of. */
void nim_put_types(const struct nim_types *t, struct python_types *out);
