// SPDX-License-Identifier: MIT

/*
 * In static programs that are not stripped the function is found by name; compilers inline it into
 * its only caller. Elsewhere it is recognized by the message below, which no other function has,
 * and which it has had since glibc 2.32.
 */

#include "injector/find/thread_cache.h"

#include "injector/find/code_map.h"
#include "injector/find/names.h"

#include <elf.h>

static struct resident_range find_by_name(const struct module_code *module) {
	struct elf_symbol symbol;
	return find_code(module, "tcache_thread_shutdown", &symbol) ||
					find_code(module, "__malloc_arena_thread_freeres", &symbol)
			? (struct resident_range){module->bias + symbol.address, symbol.size}
			: (struct resident_range){0};
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
		const struct module_code *module = &modules->items[i];
		struct elf_symbols symbols;
		if (n > 0 && !find_is_libc(module->name)) {
			continue;
		}
		struct resident_range found = find_by_name(module);
		bool may_lack_names = find_is_libc(module->name) ||
				(modules->n == 1 && !elf_symbols_init(&symbols, &module->image, SHT_SYMTAB));
		if (found.bytes == 0 && may_lack_names) {
			found = find_by_sentence(module);
		}
		caches[n] = found;
		n += found.bytes != 0;
	}
}
