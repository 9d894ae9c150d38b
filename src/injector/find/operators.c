// SPDX-License-Identifier: MIT
/*
 * An operator's instructions are read from the module's file, for what it calls or jumps to: a
 * function, or an entry of the PLT, which jumps by a word of the GOT that a relocation names.
 *
 *   libstdc++       _Znwm:   call malloc@plt       left alone
 *   jemalloc        _Znwm:   its fast path         hooked
 *                   _Znam:   jmp _Znwm             left alone
 *                   _ZdlPv:  jmp free@plt          left alone
 *   tcmalloc        _ZdlPvm: its fast path, and
 *                            jmp tc_free@plt       hooked; nested calls do not count
 */
#include "injector/arch/code.h"
#include "injector/find/functions.h"

#include <elf.h>

enum {
	WAYS_MAX = 32,
	WAY_BYTES_MAX = 16,   // of a function that only sets an argument and jumps
	FUNCTIONS_MAX = 1024, // that a module has, by far
	PLT_ENTRY_BYTES = 16,
};

static size_t ways_out(const struct module_code *module, const struct found_function *f,
		uint64_t *ways) {
	struct slice code = module_code_bytes(module, f->address - module->bias, f->size);
	return code_ways_out((struct function_code){code.data, code.size, code.size, f->address}, ways,
			WAYS_MAX);
}

// ---- the PLT

/** What the relocation of one word of the GOT names. NULL: none does. */
static const char *name_of_word(const struct module_code *module, uint64_t word) {
	const struct elf_image *e = &module->image;
	struct elf_section section, symbols, names;
	for (uint32_t i = 0; elf_section_at(e, i, &section); i++) {
		if (section.type != SHT_RELA || !elf_section_at(e, section.link, &symbols) ||
				symbols.type != SHT_DYNSYM || !elf_section_at(e, symbols.link, &names)) {
			continue;
		}
		struct slice table = elf_section_bytes(e, &section);
		struct slice of_symbols = elf_section_bytes(e, &symbols);
		struct slice text = elf_section_bytes(e, &names);
		Elf64_Rela rela;
		for (size_t at = 0; at + sizeof rela <= table.size; at += sizeof rela) {
			Elf64_Sym symbol;
			memcpy(&rela, table.data + at, sizeof rela);
			uint64_t index = ELF64_R_SYM(rela.r_info);
			if (rela.r_offset != word || (index + 1) * sizeof symbol > of_symbols.size) {
				continue;
			}
			memcpy(&symbol, of_symbols.data + index * sizeof symbol, sizeof symbol);
			bool is_text = symbol.st_name < text.size &&
					memchr(text.data + symbol.st_name, 0, text.size - symbol.st_name);
			return is_text ? (const char *)text.data + symbol.st_name : NULL;
		}
	}
	return NULL;
}

/** An entry of the PLT at `address`, as the process counts, goes to a function of this name. */
static const char *name_of_entry(const struct module_code *module, uint64_t address) {
	const uint64_t at = address - module->bias;
	uint64_t slot;
	return code_plt_slot(module_code_bytes(module, at, PLT_ENTRY_BYTES), at, &slot)
			? name_of_word(module, slot)
			: NULL;
}

// ---- judging

/** Where a way goes, if it is to one that allocates or frees; NULL otherwise. */
static const struct known_function *known_way(const struct module_code *module,
		const struct found_functions *all, size_t first, uint64_t way) {
	const struct found_function *found = FIND(known, all->items + first, all->n - first,
			known->address == way);
	const char *name = found ? NULL : name_of_entry(module, way);
	return found ? found->known : name ? known_function_of(name) : NULL;
}

/** Does it allocate by another that is known, and, if that is asked, may throw? */
static bool allocates_by_other(const struct module_code *module, const struct found_functions *all,
		size_t first, const struct found_function *f, bool must_throw) {
	uint64_t ways[WAYS_MAX];
	size_t n = ways_out(module, f, ways);
	for (size_t i = 0; i < n; i++) {
		const struct known_function *k = known_way(module, all, first, ways[i]);
		if (k && (must_throw ? k->quiet != NULL : k->what != RESIDENT_FREES)) {
			return true;
		}
	}
	return n == WAYS_MAX; // too much to know
}

/** Is a function that frees nothing but a way to another? */
static bool only_goes_on(const struct module_code *module, const struct found_functions *all,
		size_t first, const struct found_function *f) {
	uint64_t ways[WAYS_MAX];
	return f->size <= WAY_BYTES_MAX && ways_out(module, f, ways) == 1 &&
			known_way(module, all, first, ways[0]);
}

/** True: it stays among those found, to be hooked or to be told of. */
static bool stays(const struct module_code *module, const struct found_functions *all, size_t first,
		struct found_function *f) {
	if (f->what == RESIDENT_FREES) {
		return !only_goes_on(module, all, first, f);
	}
	if (allocates_by_other(module, all, first, f, false)) {
		return false;
	}
	if (!f->known->quiet) {
		return true;
	}
	struct elf_symbol symbol;
	struct found_function quiet = {0};
	if (find_code(module, f->known->quiet, &symbol)) {
		quiet.address = module->bias + symbol.address;
		quiet.size = symbol.size;
	}
	if (quiet.address == 0 || allocates_by_other(module, all, first, &quiet, true)) {
		f->why_not = "it may throw an exception, and it has no nothrow variant";
	}
	f->quiet_at = quiet.address;
	return true;
}

void operators_judge(struct found_functions *out, size_t first, const struct module_code *module) {
	bool has_allocator = false;
	for (size_t i = first; i < out->n; i++) {
		has_allocator |= !out->items[i].known->is_operator;
	}
	// Each is judged by all, so nothing is dropped before the last is judged
	bool is_dropped[FUNCTIONS_MAX] = {false};
	for (size_t i = first; i < out->n && i - first < FUNCTIONS_MAX; i++) {
		struct found_function *f = &out->items[i];
		is_dropped[i - first] = f->known->is_operator &&
				!(has_allocator && stays(module, out, first, f));
	}
	size_t n = first;
	for (size_t i = first; i < out->n; i++) {
		bool is_judged = i - first < FUNCTIONS_MAX;
		if (is_judged ? !is_dropped[i - first] : !out->items[i].known->is_operator) {
			out->items[n++] = out->items[i];
		}
	}
	out->n = n;
}
