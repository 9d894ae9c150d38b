// SPDX-License-Identifier: MIT
#pragma once
/**
 * Whose code a module, file or function is, by what is known of names: the user's, a library's or a
 * runtime's. Each function judges by one property alone and returns CODE_UNSURE if that is not
 * enough; names.c combines them. Private to the engine.
 */

#include "base/base.h"

enum code {
	CODE_UNSURE,
	CODE_YOURS,
	CODE_LIBRARY, // a dependency: it names a site where nothing of the user's own does
	CODE_RUNTIME, // the C library, the language's, an interpreter: never names a site
};

/** By its source file: system headers, language registries, vendored trees. */
enum code owner_of_file(struct slice file);

/** By its name alone: namespaces and families of functions. */
enum code owner_of_function(struct slice function);

/** By the path of its module. An executable is CODE_RUNTIME if it runs other people's programs. */
enum code owner_of_module(struct slice path);

/**
 * The folder below the system's that holds what is of this executable alone: "/usr/lib/R/" of
 * /usr/lib/R/bin/exec/R. Empty: it lies where all programs lie.
 */
struct slice owner_product_folder_of(struct slice exe);

/**
 * A library that lies directly in a folder that the whole system shares, not in one of a language.
 */
bool owner_is_of_system(struct slice path);

/**
 * A library in the lib folder beside the bin folder of an executable: of /opt/jdk/bin/java in
 * /opt/jdk/lib.
 */
bool owner_is_in_prefix_of(struct slice exe, struct slice path);

/** An executable that runs other people's programs (node, python3.11, java, ruby, perl, ...). */
bool owner_is_runtime(struct slice exe);

/**
 * A function that only returns memory: malloc, operator new, g_malloc, xmalloc and programs' own
 * wrappers. Judged by its name; its frames are never sites.
 */
bool owner_is_allocation_function(struct slice function);

/**
 * A name that an allocation function of a project's own could have: wrappers.c asks for more.
 */
bool owner_speaks_of_allocating(struct slice function);

/** Such a name that ends in what nothing but memory is called: ReallocateMemory, my_calloc. */
bool owner_is_called_like_allocating(struct slice function);

/** The crate that a Rust name is of: "core" of "<core::iter::Map<I, F> as T>::next". Or empty. */
struct slice owner_crate_of(struct slice function);

/** By a crate's name: the runtime's (std, core, alloc and what they are made of), or unsure. */
enum code owner_of_crate(struct slice crate);

/** True for names as Rust's compilers link them. */
bool owner_is_rust_symbol(struct slice symbol);

/** Crate, npm, Nim or Python package, vendored project that a source file is of. Or empty. */
struct slice owner_package_of_file(struct slice file);
