// SPDX-License-Identifier: MIT
#pragma once
/**
 * The frames of a recording, ready for display. Every location has at least one; unnamed code is
 * called module+0xoffset; each knows whose code it is. Made once per opened recording; what is
 * borrowed lives as long as the names and the recording.
 */

#include "engine/naming_rules.h"
#include "trace/recording.h"

enum owner {
	OWNER_UNKNOWN, // no name, and a module that tells nothing
	OWNER_LIBRARY, // the system's, a runtime's, a dependency's (PRODUCT: "yours")
	OWNER_YOURS,
};

/** A frame for people. */
struct name {
	struct slice function; // never empty
	struct slice symbol;   // as linked; empty: none
	struct slice file;     // empty: unknown
	struct slice module;   // path; empty: none known
	struct slice type;     // of what it allocates, from debug data; empty: unknown
	uint32_t line;         // 0: unknown
	uint32_t function_id;  // one for a function of one file, else module; < names_n_functions
	uint8_t owner;         // enum owner
	bool is_inlined;       // into the frame that follows
	bool has_name;         // false: `function` is module+0xoffset or a mark
	bool is_runtime;       // of the C library, a language runtime, an interpreter: never a site
	bool is_wrapper;       // only passes requests to an allocator (malloc, xmalloc): never a site
};

/** Equal for frames of one line of a function. */
static inline uint64_t name_line(const struct name *name) {
	return (uint64_t)name->function_id << 32 | name->line;
}

struct names;

/** `rules` (may be NULL) take precedence over all others, and are only used during the call. */
struct names *names_create(const struct recording *r, const struct naming_rules *rules);
void names_destroy(struct names *n);

/** A module's display name, followed by `end`: of "_json.cpython-311.so", "_json" and ".so". */
struct slice names_title_stem(struct slice path, const char **end);

/** The frames of a location, at least one, innermost first. */
struct name_list {
	const struct name *items;
	uint32_t n;
};
struct name_list names_of(const struct names *n, uint32_t location);

uint32_t names_n_functions(const struct names *n);

/** The frames of names_of are numbered, those of one location consecutively. */
uint32_t names_n_frames(const struct names *n);
uint32_t names_number(const struct names *n, const struct name *frame);

bool names_is_of_nim(const struct names *n);

/**
 * The frame a stack is named after: the innermost of the user's own, else the innermost of a
 * dependency. A stack with neither belongs to a runtime: it gets the name of the module that asked
 * for the memory ("libstdc++.so.6"), with is_runtime. NULL for the empty stack.
 */
const struct name *names_site(const struct names *n, uint32_t node);

/**
 * Who keeps a stack's never freed blocks: its site, or the module of a runtime function that keeps
 * what it allocates, whoever called it (stdio's buffers, the loader's tables).
 */
const struct name *names_keeper(const struct names *n, uint32_t node);

/**
 * The site of a stack that maps memory, but the module of an interpreter that maps for its own
 * objects. Then *running is the site, which only ran when space was short; else NULL.
 */
const struct name *names_mapper(const struct names *n, uint32_t node, const struct name **running);

/**
 * The frame to which a stack's own costs belong in lists by function, package, module or file:
 * `site` (from names_site or names_keeper), or the innermost frame of the module it stands for.
 * NULL for the empty stack.
 */
const struct name *names_site_frame(const struct names *n, uint32_t node, const struct name *site);

/** Says in a sentence for unnamed code: all of its module ("bc, no symbols"). has_name is false. */
const struct name *names_without_symbols(const struct names *n, const struct name *unnamed);

/**
 * What a frame's code was shipped in: a crate, npm, Nim or Python package, else the library or
 * program ("libfoo.so.1" in full). Never empty; lives as long as the recording.
 */
struct slice names_package(const struct name *name);

/** Walks a stack outwards from its innermost frame, inlined frames included. */
struct stack_walk {
	const struct recording *recording;
	const struct names *names;
	const struct name *site; // of the stack
	uint32_t node;
	uint32_t location; // of the last frame returned
	struct name_list frames;
	uint32_t i;
};
struct stack_walk stack_walk_init(const struct recording *r, const struct names *n, uint32_t node);

/** The next frame, or NULL after the outermost. */
const struct name *stack_walk_next(struct stack_walk *w);

/** The next frame for which `is_so` is true, or NULL. */
#define NEXT_FRAME_THAT(frame, walk, is_so)                            \
	({                                                                 \
		const struct name *frame;                                      \
		while ((frame = stack_walk_next(walk)) != NULL && !(is_so)) {} \
		frame;                                                         \
	})

/** The program as it was started: /usr/bin/redis-server, a link to redis-check-rdb. */
struct slice names_program(const struct recording *r);

/**
 * A function's name, shortened for tables: template arguments become <>, parameters (); return type
 * and ABI tags go. "void f<int>(char, int)" gives "f<>()"; "buildMatrix(int)" gives
 * "buildMatrix()"; C, Rust, Nim and module+0xoffset lose only generic arguments. NUL-terminated.
 */
char *function_short(struct slice name, struct arena *arena);

/** A function's name without the return type, with which names of C++ templates begin. */
struct slice function_proper(struct slice name);

/**
 * What a function is matched by in another build: its name without parameters and return type,
 * since inlined functions have no more. "void fill<int>(int) const" gives "fill<int>".
 */
struct slice function_bare(struct slice name);

/** Shorten as KDE's tools do: only template arguments become <>. */
char *template_short(struct slice name, struct arena *arena);
