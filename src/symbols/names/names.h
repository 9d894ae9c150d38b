// SPDX-License-Identifier: MIT
#pragma once
/**
 * The texts of an answer, names and paths.
 *
 * Each distinct name is demangled once, each distinct path normalized once; what comes out lives in
 * the arena of the answer.
 */

#include "base/base.h"

enum names_scheme {
	NAMES_MARKED, // demangled if the name bears the mark of C++, Rust or D
	NAMES_C,      // the unit is C: never
	NAMES_NIM,    // as NAMES_MARKED; other names may be Nim's, which have no mark
};

/** A copy's suffixes and a version are not part of a name: a part of `linkage_name`. */
struct slice names_without_suffixes(const char *linkage_name);

/**
 * A name for people, from a linkage name: C++ (Itanium), Rust (legacy and v0, without hash and
 * disambiguators), D, Nim; `.llvm.N`, `.part.N`, `.constprop.N`, `.isra.N`, `.cold` dropped. A
 * plain C name comes back unchanged. NULL: no memory.
 */
const char *names_demangle(const char *linkage_name, enum names_scheme scheme, struct arena *arena);

struct name {
	const char *symbol;   // as it came
	const char *function; // for people
};

struct name_pool {
	struct arena *arena; // of the answer
	VEC(struct name_item);
	struct index index; // of (kind, text as it came)
};

/** NULL: no memory, as for all below. Texts live in the arena, the result until the next call. */
const struct name *name_pool_function(struct name_pool *pool, const char *linkage_name,
		enum names_scheme scheme);
const char *name_pool_path(struct name_pool *pool, const char *path);
const char *name_pool_text(struct name_pool *pool, const char *text);

void name_pool_finish(struct name_pool *pool);
