// SPDX-License-Identifier: MIT
#pragma once

// What the files behind find.h share.

#include "injector/find.h"

/** Is it defined here, and a function? */
bool find_is_code(const struct elf_symbol *symbol);

/** The address of a name in one table; 0: it is not there. */
uint64_t find_in(const struct module_code *module, uint32_t table, const char *name);

/** Has it the `free` of an allocator whose other names begin like that? */
bool find_has_free_of(const struct module_code *module, const char *family);

/** The loader, whose own little allocator serves itself before there is another. */
bool find_is_loader(const struct module_code *module);

/** A tool that stands in for the allocator itself: what is behind it is what counts. */
bool find_is_of_tool(const struct module_code *module);
