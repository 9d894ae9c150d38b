// SPDX-License-Identifier: MIT
#pragma once

/** What names in symbol tables tell; no instruction is looked at. */

#include "injector/find.h"
#include "injector/find/known.h"

/** Is it a function, and defined here? */
bool find_is_code(const struct elf_symbol *symbol);

/** What is known of a function by its name; NULL: nothing. */
const struct known_function *find_known(const struct elf_symbol *symbol);

/** The function of that name, exported or not. */
bool find_code(const struct module_code *module, const char *name, struct elf_symbol *out);

/** The address of an exported name; 0: none. `module`: how its file's name begins, or NULL. */
uint64_t find_symbol(const struct modules_code *modules, const char *module, const char *name);

/** Has it the `free` of an allocator whose other names begin like that? */
bool find_has_free_of(const struct module_code *module, const char *family);

/** Is it the loader, whose own small allocator serves itself before there is another? */
bool find_is_loader(const struct module_code *module);

/** Does it only stand in for the allocator behind it, which is the one that counts? */
bool find_is_of_tool(const struct module_code *module);
