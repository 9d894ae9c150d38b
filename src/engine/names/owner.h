// SPDX-License-Identifier: MIT
#pragma once
/**
 * Whose code a module, file or function is, judging by names: the user's, a library's or a
 * runtime's. Each function looks at one property and returns CODE_UNSURE if that is not enough;
 * names.c combines them. Private to the engine.
 */

#include "base/base.h"

enum code {
	CODE_UNSURE,
	CODE_YOURS,
	CODE_LIBRARY, // a dependency: a site only where no user code is
	CODE_RUNTIME, // the C library, a language runtime, an interpreter: never a site
};

/** By its source file: system headers, language registries, vendored trees. */
enum code owner_of_file(struct slice file);

/** By its name alone: namespaces and families of functions. */
enum code owner_of_function(struct slice function);

/** By the path of its module. An executable is CODE_RUNTIME if it runs other people's programs. */
enum code owner_of_module(struct slice path);

/**
 * The system folder of this executable alone: "/usr/lib/R/" for /usr/lib/R/bin/exec/R. Empty: none.
 */
struct slice owner_product_folder_of(struct slice exe);

/** Is it directly in a folder that the whole system shares, not in a language's? */
bool owner_is_of_system(struct slice path);

/** Is it in the lib folder beside a runtime's bin folder, as /opt/jdk/bin/java and /opt/jdk/lib? */
bool owner_is_in_prefix_of(struct slice exe, struct slice path);

/** Does it run other people's programs (node, python3.11, java, ruby, perl, ...)? */
bool owner_is_runtime(struct slice exe);

/** Does its name say that it only returns memory (malloc, g_malloc, wrappers)? Never a site. */
bool owner_is_allocation_function(struct slice function);

/** Could a project's own allocation function have this name? wrappers.c requires more. */
bool owner_speaks_of_allocating(struct slice function);

/** Does such a name end as only allocation functions do: ReallocateMemory, my_calloc? */
bool owner_is_called_like_allocating(struct slice function);

/** The crate of a Rust name: "core" for "<core::iter::Map<I, F> as T>::next"; or empty. */
struct slice owner_crate_of(struct slice function);

/** By a crate's name: the runtime's (std, core, alloc and their dependencies), or unsure. */
enum code owner_of_crate(struct slice crate);

bool owner_is_rust_symbol(struct slice symbol);

/** The crate, npm, Nim or Python package, or vendored project of a source file; or empty. */
struct slice owner_package_of_file(struct slice file);
