// SPDX-License-Identifier: MIT
#pragma once
/**
 * The frames of a recording, ready to be shown. Every location has at least one, unnamed code is
 * called module+0xoffset, and each knows whose code it is. Made once per opened recording;
 * everything borrowed lives as long as it and the recording.
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
	struct slice type;     // of what it allocates, as debug data say; empty: unknown
	uint32_t line;         // 0: unknown
	uint32_t function_id;  // equal for all frames of one function of one file; < names_n_functions
	uint8_t owner;         // enum owner
	bool is_inlined;       // into the frame that follows
	bool has_name;         // false: `function` is module+0xoffset or a mark
	bool is_runtime;       // the C library, the language's, an interpreter: names no site
	bool is_wrapper;       // only hands memory out (malloc, operator new, xmalloc): names no site
};

struct names;

/** `rules` (may be NULL) come before all others; they are used during the call alone. */
struct names *names_create(const struct recording *r, const struct naming_rules *rules);
void names_destroy(struct names *n);

/**
 * What a module is called, with its `end` behind it: "libfoo.so.1"; "_json" and ".so" of
 * "_json.cpython-311-x86_64-linux-gnu.so".
 */
struct slice names_title_stem(struct slice path, const char **end);

/** The frames of a location, at least one, innermost first. */
struct name_list {
	const struct name *items;
	uint32_t n;
};
struct name_list names_of(const struct names *n, uint32_t location);

uint32_t names_n_functions(const struct names *n);

/** Frames of names_of are numbered, those of a location one after the other. */
uint32_t names_n_frames(const struct names *n);
uint32_t names_number(const struct names *n, const struct name *frame);

/** The program is written in Nim. */
bool names_is_of_nim(const struct names *n);

/**
 * The frame a stack is named after: its innermost frame that is the user's own; else the innermost
 * of a dependency. A stack that has neither belongs to a runtime: its name is that of the module
 * whose code asked for the memory ("libstdc++.so.6"), and is_runtime. NULL for the empty stack.
 */
const struct name *names_site(const struct names *n, uint32_t node);

/**
 * Who has the blocks of a stack that are never freed: its site, or the module of a runtime's
 * function that keeps what it allocates, whoever called it (stdio's buffers, the loader's tables).
 */
const struct name *names_keeper(const struct names *n, uint32_t node);

/**
 * The site of a stack that maps memory; but the module of an interpreter that maps for objects of
 * its own. Then `*running` is the site, which was only running when there was no room; else NULL.
 */
const struct name *names_mapper(const struct names *n, uint32_t node, const struct name **running);

/**
 * The frame that a stack's costs are its own of, in lists by function, package, module or file:
 * `site`, one of the two above; where that is a module, the innermost of its frames. NULL for the
 * empty stack.
 */
const struct name *names_site_frame(const struct names *n, uint32_t node, const struct name *site);

/**
 * What stands in a sentence for a frame without a name, whose address says nothing to its reader:
 * all such code of its module ("bc, no symbols"). has_name is false.
 */
const struct name *names_without_symbols(const struct names *n, const struct name *unnamed);

/**
 * What a frame's code was delivered in: a crate, npm, Nim or Python package, else the library or
 * program. Never empty; lives as long as the recording. "libfoo.so.1" stays as it is.
 */
struct slice names_package(const struct name *name);

/** Walks a stack from its innermost frame outwards, inlined frames included. */
struct stack_walk {
	const struct recording *recording;
	const struct names *names;
	const struct name *site; // of the stack
	uint32_t node;
	uint32_t location; // of the frame that was given last
	struct name_list frames;
	uint32_t i;
};
struct stack_walk stack_walk_init(const struct recording *r, const struct names *n, uint32_t node);

/** The next frame, or NULL behind the outermost. */
const struct name *stack_walk_next(struct stack_walk *w);

/** The next frame that is so, or NULL. */
#define NEXT_FRAME_THAT(frame, walk, is_so)                            \
	({                                                                 \
		const struct name *frame;                                      \
		while ((frame = stack_walk_next(walk)) != NULL && !(is_so)) {} \
		frame;                                                         \
	})

/** The program as it was started: /usr/bin/redis-server, a link to redis-check-rdb. */
struct slice names_program(const struct recording *r);

/**
 * A function's name, shortened for tables: template arguments become <>, parameters (), the return
 * type and ABI tags go. "void f<int>(char, int)" gives "f<>()"; "buildMatrix(int)" gives
 * "buildMatrix()"; names of C, Rust, Nim and module+0xoffset stay as they are but for generic
 * arguments. The result ends in a zero byte that is not counted.
 */
char *function_short(struct slice name, struct arena *arena);

/** A function's name behind its return type, which names of C++'s templates begin with. */
struct slice function_proper(struct slice name);

/**
 * What a function is matched by in another build: its name without parameters and return type, for
 * where it was inlined there is no more of it. "void fill<int>(int) const" gives "fill<int>".
 */
struct slice function_bare(struct slice name);

/** As KDE's tools shorten: template arguments become <>, all else stays. */
char *template_short(struct slice name, struct arena *arena);
