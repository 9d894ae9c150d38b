// SPDX-License-Identifier: MIT

/*
 * The function has a name in static programs that were not stripped; compilers put it into its only
 * caller. Elsewhere it is the only one with the sentence below, which it has had since 2.32.
 */

#include "injector/find/thread_cache.h"

#include "base/path.h"
#include "injector/find/code_map.h"

#include <elf.h>
#include <string.h>

static bool is_libc(const struct module_code *module) {
	const char *name = path_base_name(module->name);
	return strncmp(name, "libc.so", 7) == 0 || strncmp(name, "libc-2.", 7) == 0;
}

static struct resident_range find_by_name(const struct module_code *module, bool *has_names) {
	static const char *const names[] = {"tcache_thread_shutdown", "__malloc_arena_thread_freeres"};
	struct elf_symbols symbols;
	struct elf_symbol symbol;
	struct resident_range found = {0};
	*has_names = elf_symbols_init(&symbols, &module->image, SHT_SYMTAB);
	while (*has_names && elf_symbols_next(&symbols, &symbol)) {
		for (unsigned i = 0; i < sizeof names / sizeof *names; i++) {
			bool is_it = symbol.type == STT_FUNC && symbol.section != SHN_UNDEF &&
					strcmp(symbol.name, names[i]) == 0;
			if (is_it && (found.bytes == 0 || i == 0)) {
				found = (struct resident_range){module->bias + symbol.address, symbol.size};
			}
		}
	}
	return found;
}

static struct resident_range find_by_sentence(const struct module_code *module) {
	struct code_map map;
	struct code_users users = {0};
	struct resident_range found = {0};
	if (code_map_init(&map, &module->image)) {
		code_map_users_of_text(&map, "tcache_thread_shutdown(): unaligned tcache chunk detected",
				&users);
	}
	if (users.is_whole && users.n == 1) {
		const struct code_function *f = &map.functions.items[users.items[0]];
		found = (struct resident_range){module->bias + f->address, f->size};
	}
	code_map_finish(&map);
	return found;
}

void thread_cache_find(const struct modules_code *modules,
		struct resident_range caches[RESIDENT_THREAD_CACHES]) {
	memset(caches, 0, RESIDENT_THREAD_CACHES * sizeof *caches);
	for (size_t i = 0, n = 0; i < modules->n && n < RESIDENT_THREAD_CACHES; i++) {
		bool has_names;
		if (n > 0 && !is_libc(&modules->items[i])) {
			continue;
		}
		struct resident_range found = find_by_name(&modules->items[i], &has_names);
		if (found.bytes == 0 && (is_libc(&modules->items[i]) || (modules->n == 1 && !has_names))) {
			found = find_by_sentence(&modules->items[i]);
		}
		caches[n] = found;
		n += found.bytes != 0;
	}
}
