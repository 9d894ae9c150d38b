// SPDX-License-Identifier: MIT
#pragma once
/** What the files that make names share. */

#include "engine/names.h"
#include "engine/names/owner.h"

struct names {
	const struct recording *recording;
	const struct naming_rules *rules; // while it is made
	struct arena arena;
	uint32_t *first;     // per location, one more at the end
	struct name *frames; // of all locations; behind them two per module, for names_site
	uint32_t n_frames;
	uint8_t *module_code;               // enum code
	uint8_t *file_code, *function_code; // per string: enum code + 1; 0: not asked yet
	struct slice root_crate;            // of a Rust program; empty: another
	uint32_t product;                   // string: the package that the program is of; 0: none
	struct slice product_folder; // of the system's, what the program has for itself; or empty
	bool is_runtime;             // the program runs other people's programs
	bool is_nim;
	uint32_t n_functions;
	uint32_t *site; // per node: the frame its stacks are named after, + 1
};

/** All three as one, which lives as long as the names. */
struct slice names_join(struct names *n, const char *before, struct slice text, const char *after);

/** What a module is called, as names_title_stem. */
struct slice names_title_of(struct names *n, struct slice path);

/** Find the frame that each node's stacks are named after. */
void names_find_sites(struct names *n);

/** Mark the project's own allocation functions as wrappers; functions have numbers. */
void names_find_wrappers(struct names *n);

/** The path by which a module is shown. Empty: of generated code. */
struct slice names_module_path(const struct recording *r, uint32_t module);

/** Takes a JIT compiler's name apart, that stands as the function: function, symbol, file, line. */
void names_jit_read(struct name *out);

/** A script is its own package; the runtime's are "node". Empty: there is no file. */
struct slice names_jit_package(const struct name *f);

/**
 * Mark what libstdc++ has for itself from the start where neither it nor the program has names.
 */
void names_cpp_find_start_up(struct names *n);

/** Mark the functions of an installed command's package as the user's. */
void names_find_command(struct names *n);

/** By its file and its name; `otherwise` if they tell nothing. */
enum code names_jit_code(const struct name *f, enum code otherwise);

/** A Nim program has NimMain. */
bool names_nim_is_program(const struct recording *r);

/** By the module that is part of a Nim function's linked name. */
enum code names_nim_code(const struct name *f);

/** Give functions the file and line of their own that code inlined by Nim took. */
void names_nim_correct_places(struct names *n);
