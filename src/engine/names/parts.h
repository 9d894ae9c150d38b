// SPDX-License-Identifier: MIT
#pragma once
/** What the files that make names share. */

#include "engine/names.h"
#include "engine/names/owner.h"

struct names {
	const struct recording *recording;
	const struct naming_rules *rules; // during construction
	struct arena arena;
	uint32_t *first;     // per location, and one past the end
	struct name *frames; // of all locations; then two per module, for names_site
	uint32_t n_frames;
	uint8_t *module_code;               // enum code
	uint8_t *file_code, *function_code; // per string: enum code + 1; 0: not asked yet
	struct slice root_crate;            // of a Rust program; or empty
	uint32_t product;                   // string: the program's package; 0: none
	struct slice product_folder;        // the program's own folder of the system; or empty
	bool is_runtime;                    // it runs other people's programs
	bool is_nim;
	uint32_t n_functions;
	uint32_t *site; // per node: 1 + the frame its stacks are named after
};

/** The three concatenated; lives as long as the names. */
struct slice names_join(struct names *n, const char *before, struct slice text, const char *after);

/** A module's display name, as names_title_stem. */
struct slice names_title_of(struct names *n, struct slice path);

void names_find_sites(struct names *n);

/** Mark the project's own allocation functions as wrappers. Functions must have numbers. */
void names_find_wrappers(struct names *n);

/** The path by which a module is shown. Empty: generated code. */
struct slice names_module_path(const struct recording *r, uint32_t module);

/** Parse a JIT compiler's name in `function` into function, symbol, file and line. */
void names_jit_read(struct name *out);

/** A script is its own package; the runtime's are "node". Empty: no file. */
struct slice names_jit_package(const struct name *f);

/** Mark libstdc++'s start-up memory, where neither it nor the program has symbols. */
void names_cpp_find_start_up(struct names *n);

/** Mark the functions of an installed command's package as the user's. */
void names_find_command(struct names *n);

/** By its file and name; `otherwise` if they do not tell. */
enum code names_jit_code(const struct name *f, enum code otherwise);

bool names_nim_is_program(const struct recording *r);

/** By the module in a Nim function's linked name. */
enum code names_nim_code(const struct name *f);

/** Restore the file and line of functions that have those of code inlined by Nim. */
void names_nim_correct_places(struct names *n);
