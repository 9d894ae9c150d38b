// SPDX-License-Identifier: MIT
/*
 * Each module's symbols are looked up among the known names first. What was found is then judged
 * together: a short name, a function of Nim's or a C++ operator counts only beside certain others.
 */
#include "injector/find/functions.h"

#include <elf.h>

// Before an object of Nim's lies a head: its count; with orc also a place among the roots; with
// refc its type, and then blocks of `alloc` have as much
enum { NIM_HEAD_ARC = 8, NIM_HEAD_ORC = 16, NIM_HEAD_REFC = 16 };

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

static bool look_through(struct found_functions *out, const struct module_code *module) {
	struct elf_symbols symbols = elf_symbols_all(&module->image);
	struct elf_symbol symbol;
	while (elf_symbols_next(&symbols, &symbol)) {
		const struct known_function *known = find_known(&symbol);
		uint64_t address = module->bias + symbol.address;
		if (!known || is_found(out, address, symbol.name)) {
			continue;
		}
		struct found_function *item = found_add(out, module, known, address, symbol.size);
		if (!item) {
			return false;
		}
		struct slice code = module_code_bytes(module, symbol.address, symbol.size);
		if (strstr(symbol.name, ".constprop") &&
				!code_reads_second((struct function_code){code.data, code.size, code.size, 0})) {
			item->size_register = 0; // the first argument of two is a constant
		}
		item->name = known->shown ? known->shown : symbol.name;
	}
	return true;
}

static bool has_name(const struct module_code *module, const char *beginning) {
	struct elf_symbols symbols;
	struct elf_symbol symbol;
	(void)elf_symbols_init(&symbols, &module->image, SHT_SYMTAB);
	return SOME(elf_symbols_next(&symbols, &symbol),
			find_is_code(&symbol) && strncmp(symbol.name, beginning, strlen(beginning)) == 0);
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
 * Of the last module's functions, from `first` on, drop what is not Nim's after all. Nim is known
 * by its allocator, orc by its cycles, and refc, or mark and sweep, by how it makes objects.
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

/** Likewise, drop functions with a short name whose allocator's `free` is not there. */
static void judge_families(struct found_functions *out, size_t first,
		const struct module_code *module) {
	const char *family = NULL;
	bool is_there = false;
	size_t n = first;
	for (size_t i = first; i < out->n; i++) {
		const char *its = known_family(out->items[i].known);
		if (its && its != family) {
			family = its;
			is_there = find_has_free_of(module, family);
		}
		if (!its || is_there) {
			out->items[n++] = out->items[i];
		}
	}
	out->n = n;
}

/** What is hooked in a module because it has an allocator. False: out of memory. */
static bool add_beside(struct found_functions *out, const struct module_code *module) {
	struct elf_symbols symbols = elf_symbols_all(&module->image);
	struct elf_symbol symbol;
	while (elf_symbols_next(&symbols, &symbol)) {
		const struct known_function *known = known_beside(symbol.name);
		uint64_t address = module->bias + symbol.address;
		if (known && find_is_code(&symbol) && !is_found(out, address, symbol.name) &&
				!found_add(out, module, known, address, symbol.size)) {
			return false;
		}
	}
	return true;
}

bool find_is_stripped_static(const struct module_code *module) {
	struct elf_segment segment;
	struct elf_symbols symbols;
	if (elf_segment_find(&module->image, PT_INTERP, &segment)) {
		return false;
	}
	// The dynamic table of a static-pie has only its first entry, which means nothing
	bool is_linked = elf_symbols_init(&symbols, &module->image, SHT_DYNSYM) && symbols.n > 1;
	return !is_linked && !elf_symbols_init(&symbols, &module->image, SHT_SYMTAB);
}

/** Add the functions of one module. False: out of memory. */
static bool look_at(struct found_functions *out, const struct module_code *module) {
	size_t first = out->n;
	if (!look_through(out, module) ||
			(out->n == first && find_is_stripped_static(module) && !stripped_find(out, module))) {
		return false;
	}
	judge_families(out, first, module);
	judge_nim(out, first, module);
	operators_judge(out, first, module);
	return out->n == first || add_beside(out, module);
}

bool find_functions(struct found_functions *out, const struct modules_code *modules,
		struct err *err) {
	*out = (struct found_functions){0};
	EACH(module, *modules) {
		if (!find_is_loader(module) && !find_is_of_tool(module) && !look_at(out, module)) {
			vec_finish(out);
			return err_memory(err);
		}
	}
	return true;
}
