// SPDX-License-Identifier: MIT
#include "injector/find.h"

#include "base/vec.h"
#include "injector/operators.h"
#include "injector/relocate.h"
#include "injector/stripped.h"

#include <elf.h>
#include <stdio.h>
#include <string.h>

// Of Nim's objects, before what points to it: its count; with orc a place among the roots, too; with refc its
// type, and then blocks of `alloc` have as much
enum { NIM_HEAD_ARC = 8, NIM_HEAD_ORC = 16, NIM_HEAD_REFC = 16 };

static bool is_code(const struct elf_symbol *symbol) {
	// The value of STT_GNU_IFUNC is not the function but what chooses it
	return symbol->type == STT_FUNC && symbol->section != SHN_UNDEF && symbol->address != 0;
}

struct found_function found_of(const struct module_code *module, const struct known_function *known,
		uint64_t address, uint64_t size) {
	return (struct found_function){
			.name = known->name,
			.module = module->name,
			.address = address,
			.size = size,
			.module_start = module->start,
			.module_end = module->end,
			.what = known->what,
			.ptr = known->ptr,
			.size_register = known->size,
			.times = known->times,
			.known = known,
	};
}

/** Is it there already, by another name? The name without a prefix is the one to show. */
static bool is_found(struct found_functions *out, uint64_t address, const char *name) {
	for (size_t i = 0; i < out->n; i++) {
		if (out->items[i].address == address) {
			if (out->items[i].name[0] == '_' && name[0] != '_') {
				out->items[i].name = name;
			}
			return true;
		}
	}
	return false;
}

static bool reads_second(const struct module_code *module, const struct elf_symbol *symbol) {
	struct slice code = module_code_bytes(module, symbol->address, symbol->size);
	const struct function_code function = {code.data, code.size, code.size, symbol->address};
	return relocate_reads_second(&function);
}

static bool look_through(struct found_functions *out, const struct module_code *module,
		uint32_t table) {
	struct elf_symbols symbols;
	struct elf_symbol symbol;
	if (!elf_symbols_init(&symbols, &module->image, table)) {
		return true;
	}
	while (elf_symbols_next(&symbols, &symbol)) {
		const struct known_function *known = is_code(&symbol) && known_may_be(symbol.name)
				? known_function_of(symbol.name)
				: NULL;
		uint64_t address = module->bias + symbol.address;
		if (!known || is_found(out, address, symbol.name)) {
			continue;
		}
		struct found_function *item = vec_push(out);
		if (!item) {
			return false;
		}
		*item = found_of(module, known, address, symbol.size);
		if (strstr(symbol.name, ".constprop") && !reads_second(module, &symbol)) {
			item->size_register = 0; // the first argument of two is a constant
		}
		item->name = known->shown ? known->shown : symbol.name;
	}
	return true;
}

static bool has_name(const struct module_code *module, const char *beginning) {
	struct elf_symbols symbols;
	struct elf_symbol symbol;
	bool has_table = elf_symbols_init(&symbols, &module->image, SHT_SYMTAB);
	while (has_table && elf_symbols_next(&symbols, &symbol)) {
		if (is_code(&symbol) && strncmp(symbol.name, beginning, strlen(beginning)) == 0) {
			return true;
		}
	}
	return false;
}

/** How many bytes before what it gives, or is given, the block begins. */
static uint8_t nim_head(enum known_nim nim, bool is_orc, bool is_refc) {
	switch (nim) {
	case KNOWN_NIM_BLOCK: return is_refc ? NIM_HEAD_REFC : 0;
	case KNOWN_NIM_DISPOSES: return is_orc ? NIM_HEAD_ORC : NIM_HEAD_ARC;
	case KNOWN_NIM_OBJECT: return NIM_HEAD_REFC;
	default: return 0;
	}
}

/**
 * Those of the last module, from `first` on: what is Nim's is known by its allocator, orc by its cycles,
 * and refc, or mark and sweep, by how it makes objects.
 */
static void judge_nim(struct found_functions *out, size_t first, const struct module_code *module) {
	bool has_any = false, is_refc = false;
	for (size_t i = first; i < out->n; i++) {
		has_any |= out->items[i].known->nim != KNOWN_NOT_NIM;
		is_refc |= out->items[i].known->nim == KNOWN_NIM_OBJECT;
	}
	bool is_nim = has_any && has_name(module, "rawAlloc__system_");
	bool is_orc = is_nim && !is_refc && has_name(module, "collectCycles");
	size_t n = first;
	for (size_t i = first; i < out->n; i++) {
		struct found_function *f = &out->items[i];
		f->behind = nim_head(f->known->nim, is_orc, is_refc);
		if (f->known->nim == KNOWN_NOT_NIM || is_nim) {
			out->items[n++] = *f;
		}
	}
	out->n = n;
}

static uint64_t find_in(const struct module_code *module, uint32_t table, const char *name) {
	struct elf_symbols symbols;
	struct elf_symbol symbol;
	if (!elf_symbols_init(&symbols, &module->image, table)) {
		return 0;
	}
	while (elf_symbols_next(&symbols, &symbol)) {
		if (symbol.section != SHN_UNDEF && strcmp(symbol.name, name) == 0) {
			return module->bias + symbol.address;
		}
	}
	return 0;
}

static bool has_free_of(const struct module_code *module, const char *family) {
	char name[16];
	(void)snprintf(name, sizeof name, "%sfree", family);
	return find_in(module, SHT_DYNSYM, name) != 0 || find_in(module, SHT_SYMTAB, name) != 0;
}

/** Those of the last module, from `first` on: is what is named as an allocator's function one? */
static void judge_families(struct found_functions *out, size_t first,
		const struct module_code *module) {
	const char *family = NULL;
	bool is_there = false;
	size_t n = first;
	for (size_t i = first; i < out->n; i++) {
		const char *its = known_family(out->items[i].known);
		if (its && its != family) {
			family = its;
			is_there = has_free_of(module, family);
		}
		if (!its || is_there) {
			out->items[n++] = out->items[i];
		}
	}
	out->n = n;
}

/** What may forbid the program the clock that the recorder reads, of a module that allocates. */
static bool add_prctl(struct found_functions *out, const struct module_code *module) {
	static const struct known_function prctl = {.name = "prctl",
			.what = RESIDENT_CONFINES,
			.ptr = 0,
			.size = 1,
			.times = RESIDENT_NO_REGISTER};
	static const uint32_t tables[] = {SHT_DYNSYM, SHT_SYMTAB};
	for (unsigned i = 0; i < sizeof tables / sizeof *tables; i++) {
		struct elf_symbols symbols;
		struct elf_symbol symbol;
		bool has_table = elf_symbols_init(&symbols, &module->image, tables[i]);
		while (has_table && elf_symbols_next(&symbols, &symbol)) {
			if (is_code(&symbol) && strcmp(symbol.name, prctl.name) == 0) {
				struct found_function *item = vec_push(out);
				uint64_t address = module->bias + symbol.address;
				return item && (*item = found_of(module, &prctl, address, symbol.size), true);
			}
		}
	}
	return true;
}

/** The loader's own little allocator serves itself, before there is another. */
static bool is_loader(const struct module_code *module) {
	const char *slash = strrchr(module->name, '/');
	const char *name = slash ? slash + 1 : module->name;
	return strncmp(name, "ld-linux", 8) == 0 || strncmp(name, "ld-2.", 5) == 0;
}

/** Tools that stand in for the allocator themselves: what is behind them is what counts. */
static bool is_of_tool(const struct module_code *module) {
	return strstr(module->name, "libheaptrack_") != NULL;
}

bool find_is_stripped_static(const struct module_code *module) {
	struct elf_segment segment;
	struct elf_symbols symbols;
	for (uint32_t i = 0; elf_segment_at(&module->image, i, &segment); i++) {
		if (segment.type == PT_INTERP) {
			return false;
		}
	}
	// The table of a static-pie has nothing but its first entry, which means nothing
	bool is_linked = elf_symbols_init(&symbols, &module->image, SHT_DYNSYM) && symbols.n > 1;
	return !is_linked && !elf_symbols_init(&symbols, &module->image, SHT_SYMTAB);
}

bool find_functions(struct found_functions *out, const struct modules_code *modules,
		struct err *err) {
	*out = (struct found_functions){0};
	for (size_t i = 0; i < modules->n; i++) {
		const struct module_code *module = &modules->items[i];
		if (is_loader(module) || is_of_tool(module)) {
			continue;
		}
		size_t first = out->n;
		if (!look_through(out, module, SHT_DYNSYM) || !look_through(out, module, SHT_SYMTAB)) {
			vec_finish(out);
			return err_memory(err);
		}
		if (out->n == first && find_is_stripped_static(module) && !stripped_find(out, module)) {
			vec_finish(out);
			return err_memory(err);
		}
		judge_families(out, first, module);
		judge_nim(out, first, module);
		operators_judge(out, first, module);
		if (out->n > first && !add_prctl(out, module)) {
			vec_finish(out);
			return err_memory(err);
		}
	}
	return true;
}

/** What functions of an allocator a program defines itself. */
static void find_defined(const struct elf_image *image, bool *allocates, bool *frees) {
	static const uint32_t tables[] = {SHT_DYNSYM, SHT_SYMTAB};
	*allocates = *frees = false;
	for (unsigned i = 0; i < sizeof tables / sizeof *tables; i++) {
		struct elf_symbols symbols;
		struct elf_symbol symbol;
		bool has_table = elf_symbols_init(&symbols, image, tables[i]);
		while (has_table && elf_symbols_next(&symbols, &symbol)) {
			const struct known_function *known = is_code(&symbol) && known_may_be(symbol.name)
					? known_function_of(symbol.name)
					: NULL;
			bool is_plain = known && !known->is_operator && known->nim == KNOWN_NOT_NIM;
			*allocates |= is_plain && known->what == RESIDENT_ALLOCATES;
			*frees |= is_plain && known->what == RESIDENT_FREES;
		}
	}
}

bool find_defines_allocator(const struct elf_image *image) {
	bool allocates, frees;
	find_defined(image, &allocates, &frees);
	return allocates && frees;
}

bool find_names_allocation(const struct elf_image *image) {
	bool allocates, frees;
	find_defined(image, &allocates, &frees);
	return allocates;
}

static const struct known_function *known_plain(const struct elf_symbol *symbol) {
	const struct known_function *known = is_code(symbol) && known_may_be(symbol->name)
			? known_function_of(symbol->name)
			: NULL;
	return known && !known->is_operator && known->nim == KNOWN_NOT_NIM ? known : NULL;
}

/** Is there an exported function of that name, or at that address, that is called through another's? */
static bool is_stood_in_for(const struct module_code *m, const struct elf_symbol *local,
		bool (*is_hidden)(const void *user, const char *name), const void *user) {
	struct elf_symbols symbols;
	struct elf_symbol s;
	bool has_table = elf_symbols_init(&symbols, &m->image, SHT_DYNSYM);
	while (has_table && elf_symbols_next(&symbols, &s)) {
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
	if (is_loader(m) || is_of_tool(m) || find_in(m, SHT_DYNSYM, "__libc_malloc") != 0) {
		return 0;
	}
	bool has_table = elf_symbols_init(&symbols, &m->image, SHT_SYMTAB) ||
			elf_symbols_init(&symbols, &m->image, SHT_DYNSYM);
	while (has_table && elf_symbols_next(&symbols, &s)) {
		const struct known_function *known = known_plain(&s);
		const char *family = known ? known_family(known) : NULL;
		if (!known || (family && !has_free_of(m, family)) ||
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
		const char *slash = strrchr(m->name, '/');
		if (module && strncmp(slash ? slash + 1 : m->name, module, strlen(module)) != 0) {
			continue;
		}
		uint64_t address = find_in(m, SHT_DYNSYM, name);
		if (address != 0) {
			return address;
		}
	}
	return 0;
}
