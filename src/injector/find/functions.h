// SPDX-License-Identifier: MIT
#pragma once

/**
 * Which functions of a process allocate and free memory.
 *
 * They are found by their names in the symbol tables of its modules, dynamic and static, with the
 * prefixes that allocators are built with; in a static program without symbols by what glibc's look
 * like (stripped.h).
 */

#include "injector/find/found.h"

/** False: out of memory. */
bool find_functions(struct found_functions *out, const struct modules_code *modules,
		struct err *err);

/** Has it no symbols, and no loader that would bring others? */
bool find_is_stripped_static(const struct module_code *module);
