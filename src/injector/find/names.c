// SPDX-License-Identifier: MIT

/* Linear searches: each table is read a few times for each attach. */

#include "injector/find/names.h"

#include "base/path.h"
#include "wire/resident.h"

#include <elf.h>
#include <stdio.h>

bool find_is_code(const struct elf_symbol *symbol) {
	// The value of STT_GNU_IFUNC is not the function but what chooses it
	return symbol->type == STT_FUNC && symbol->section != SHN_UNDEF && symbol->address != 0;
}

const struct known_function *find_known(const struct elf_symbol *symbol) {
	return find_is_code(symbol) && known_may_be(symbol->name) ? known_function_of(symbol->name)
															  : NULL;
}

bool find_code(const struct module_code *module, const char *name, struct elf_symbol *out) {
	struct elf_symbols symbols = elf_symbols_all(&module->image);
	while (elf_symbols_find(&symbols, name, out)) {
		if (find_is_code(out)) {
			return true;
		}
	}
	return false;
}

/** The address of an exported name; 0: it is not there. */
static uint64_t exported(const struct module_code *module, const char *name) {
	struct elf_symbols symbols;
	struct elf_symbol symbol;
	(void)elf_symbols_init(&symbols, &module->image, SHT_DYNSYM);
	return elf_symbols_find(&symbols, name, &symbol) ? module->bias + symbol.address : 0;
}

bool find_has_free_of(const struct module_code *module, const char *family) {
	struct elf_symbols symbols = elf_symbols_all(&module->image);
	struct elf_symbol symbol;
	char name[16];
	(void)snprintf(name, sizeof name, "%sfree", family);
	return elf_symbols_find(&symbols, name, &symbol);
}

bool find_is_libc(const char *path) {
	const char *name = path_base_name(path);
	return strncmp(name, "libc.so", 7) == 0 || strncmp(name, "libc-2.", 7) == 0;
}

bool find_is_loader(const struct module_code *module) {
	const char *name = path_base_name(module->name);
	return strncmp(name, "ld-linux", 8) == 0 || strncmp(name, "ld-2.", 5) == 0;
}

bool find_is_of_tool(const struct module_code *module) {
	return strstr(module->name, "libheaptrack_") != NULL;
}

/** Of no language's runtime, which has another allocator behind it. */
static const struct known_function *known_plain(const struct elf_symbol *symbol) {
	const struct known_function *known = find_known(symbol);
	return known && !known->is_operator && known->nim == KNOWN_NOT_NIM ? known : NULL;
}

bool find_defines_allocator(const struct elf_image *image, bool must_free) {
	struct elf_symbols symbols = elf_symbols_all(image);
	struct elf_symbol symbol;
	bool allocates = false, frees = !must_free;
	while (elf_symbols_next(&symbols, &symbol)) {
		const struct known_function *known = known_plain(&symbol);
		allocates |= known && known->what == RESIDENT_ALLOCATES;
		frees |= known && known->what == RESIDENT_FREES;
	}
	return allocates && frees;
}

bool find_is_collector(const struct module_code *m) {
	static const char variable[] = "GC_INITIAL_HEAP_SIZE"; // it reads this one when it starts
	struct elf_symbol symbol;
	struct elf_segment loader;
	struct elf_section texts;
	if (find_code(m, "GC_gcollect", &symbol)) {
		return find_code(m, "GC_malloc", &symbol);
	}
	bool is_program = m->image.type == ET_EXEC || elf_segment_find(&m->image, PT_INTERP, &loader);
	if (!is_program || elf_has_section(&m->image, ".symtab") ||
			!elf_section_find(&m->image, ".rodata", &texts)) {
		return false;
	}
	struct slice bytes = elf_section_bytes(&m->image, &texts);
	return memmem(bytes.data, bytes.size, variable, sizeof variable) != NULL;
}

bool find_is_go(const struct module_code *m) {
	return elf_has_section(&m->image, ".go.buildinfo");
}

/** Is an exported function of that name, or at that address, replaced by another module's? */
static bool is_stood_in_for(const struct module_code *m, const struct elf_symbol *local,
		bool (*is_hidden)(const void *user, const char *name), const void *user) {
	struct elf_symbols symbols;
	struct elf_symbol s;
	(void)elf_symbols_init(&symbols, &m->image, SHT_DYNSYM);
	while (elf_symbols_next(&symbols, &s)) {
		if ((s.address == local->address || strcmp(s.name, local->name) == 0) && known_plain(&s) &&
				!is_hidden(user, s.name)) {
			return true;
		}
	}
	return false;
}

uint32_t find_own_allocator(const struct module_code *m,
		bool (*is_hidden)(const void *user, const char *name), const void *user, char *names,
		size_t size) {
	struct elf_symbols symbols;
	struct elf_symbol s;
	bool allocates = false, frees = false;
	uint32_t n = 0;
	size_t used = 0;
	if (find_is_loader(m) || find_is_of_tool(m) || exported(m, "__libc_malloc") != 0) {
		return 0;
	}
	(void)(elf_symbols_init(&symbols, &m->image, SHT_SYMTAB) ||
			elf_symbols_init(&symbols, &m->image, SHT_DYNSYM));
	while (elf_symbols_next(&symbols, &s)) {
		const struct known_function *known = known_plain(&s);
		const char *family = known ? known_family(known) : NULL;
		if (!known || (family && !find_has_free_of(m, family)) ||
				is_stood_in_for(m, &s, is_hidden, user)) {
			continue;
		}
		allocates |= known->what == RESIDENT_ALLOCATES;
		frees |= known->what == RESIDENT_FREES;
		if (used + strlen(s.name) + 3 < size) {
			used += (size_t)snprintf(names + used, size - used, "%s%s", n > 0 ? ", " : "", s.name);
			n++;
		}
	}
	return allocates && frees ? n : 0;
}

uint64_t find_symbol(const struct modules_code *modules, const char *module, const char *name) {
	for (size_t i = 0; i < modules->n; i++) {
		const struct module_code *m = &modules->items[i];
		if (module && strncmp(path_base_name(m->name), module, strlen(module)) != 0) {
			continue;
		}
		uint64_t address = exported(m, name);
		if (address != 0) {
			return address;
		}
	}
	return 0;
}
