// SPDX-License-Identifier: MIT
/*
 * Looks up the symbols of each module among the known names, then judges the found ones together: a
 * short name, a function of Nim or a C++ operator counts only beside certain others.
 */
#include "injector/find/functions.h"

// ---- C++ operators
//
// An operator's code is read from the module's file, for what it calls or jumps to: a function, or
// a PLT entry, which jumps through a word of the GOT that a relocation names.
//
//   libstdc++       _Znwm:   call malloc@plt       left alone
//   jemalloc        _Znwm:   its fast path         hooked
//                   _Znam:   jmp _Znwm             left alone
//                   _ZdlPv:  jmp free@plt          left alone
//   tcmalloc        _ZdlPvm: its fast path, and
//                            jmp tc_free@plt       hooked; nested calls do not count

enum {
	WAYS_MAX = 32,
	WAY_BYTES_MAX = 16, // of a function that only sets an argument and jumps
	PLT_ENTRY_BYTES = 16,
};

static size_t ways_out(const struct module_code *module, const struct found_function *f,
		uint64_t *ways) {
	struct slice code = module_code_bytes(module, f->address - module->bias, f->size);
	return code_ways_out((struct function_code){code.data, code.size, code.size, f->address}, ways,
			WAYS_MAX);
}

/** What the relocation of one word of the GOT names. NULL: none does. */
static const char *name_of_word(const struct module_code *module, uint64_t word) {
	const struct elf_image *e = &module->image;
	struct elf_section section, linked;
	struct elf_symbols symbols = elf_symbols_of(e, SHT_DYNSYM);
	struct elf_symbol symbol;
	for (uint32_t i = 0; elf_section_at(e, i, &section); i++) {
		if (section.type != SHT_RELA || !elf_section_at(e, section.link, &linked) ||
				linked.type != SHT_DYNSYM) {
			continue;
		}
		struct slice table = section.bytes;
		Elf64_Rela rela;
		for (size_t at = 0; at + sizeof rela <= table.size; at += sizeof rela) {
			memcpy(&rela, table.data + at, sizeof rela);
			symbols.next = ELF64_R_SYM(rela.r_info);
			if (rela.r_offset == word && elf_symbols_next(&symbols, &symbol)) {
				return symbol.name;
			}
		}
	}
	return NULL;
}

// ---- judging

/** Where a way goes, if to a function that allocates or frees; else NULL. */
static const struct known_function *known_way(const struct module_code *module,
		const struct found_functions *all, size_t first, uint64_t way) {
	const struct found_function *found = FIND(known, all->items + first, all->n - first,
			known->address == way);
	const uint64_t at = way - module->bias; // maybe a PLT entry
	uint64_t slot;
	bool is_entry = !found &&
			code_plt_slot(module_code_bytes(module, at, PLT_ENTRY_BYTES), at, &slot);
	const char *name = is_entry ? name_of_word(module, slot) : NULL;
	return found ? found->known : name ? known_function_of(name) : NULL;
}

/** Does it allocate by another known function that, if `must_throw`, may throw? */
static bool allocates_by_other(const struct module_code *module, const struct found_functions *all,
		size_t first, const struct found_function *f, bool must_throw) {
	uint64_t ways[WAYS_MAX];
	size_t n = ways_out(module, f, ways);
	const struct known_function *k;
	return n == WAYS_MAX || // too many to follow
			ANY(i, n,
					(k = known_way(module, all, first, ways[i])) &&
							(must_throw ? k->quiet != NULL : k->what != RESIDENT_FREES));
}

/** True: it stays found, to be hooked or reported. */
static bool stays(const struct module_code *module, const struct found_functions *all, size_t first,
		struct found_function *f) {
	uint64_t ways[WAYS_MAX];
	if (f->what == RESIDENT_FREES) { // does it do nothing but call another?
		return f->size > WAY_BYTES_MAX || ways_out(module, f, ways) != 1 ||
				!known_way(module, all, first, ways[0]);
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

/**
 * Of those found in `module`, from `first` on, drop C++ operators that are not to be hooked. Those
 * of jemalloc, tcmalloc and mimalloc allocate by themselves; others, such as a C++ library's, call
 * functions that are hooked.
 */
static void operators_judge(struct found_functions *out, size_t first,
		const struct module_code *module) {
	bool has_allocator = ANY(i, out->n - first, !out->items[first + i].known->is_operator);
	// Each is judged by all: nothing is dropped before the last is judged
	EACH_OF(f, out->items + first, out->n - first) {
		f->is_dropped = f->known->is_operator && !(has_allocator && stays(module, out, first, f));
	}
	vec_keep(out, first, f, !f->is_dropped);
}

// ---- all functions

// Nim's objects have a header: a count; with orc also an index of the root; with refc the type, and
// then blocks of `alloc` have a header of that size, too
enum { NIM_HEAD_ARC = 8, NIM_HEAD_ORC = 16, NIM_HEAD_REFC = 16 };

/** Was it found by another name? The name without a prefix is shown. */
static bool is_found(struct found_functions *out, uint64_t address, const char *name) {
	struct found_function *found = FIND_IN(f, *out, f->address == address);
	if (found && found->name[0] == '_' && name[0] != '_') {
		found->name = name;
	}
	return found;
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
	struct elf_symbols symbols = elf_symbols_of(&module->image, SHT_SYMTAB);
	struct elf_symbol symbol;
	return SOME(elf_symbols_next(&symbols, &symbol),
			find_is_code(&symbol) && strncmp(symbol.name, beginning, strlen(beginning)) == 0);
}

/** How many bytes before the returned or passed pointer the block begins. */
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
 * by its allocator, orc by its cycles, refc (or mark and sweep) by how it makes objects.
 */
static void judge_nim(struct found_functions *out, size_t first, const struct module_code *module) {
	const struct found_function *own = out->items + first;
	const size_t n = out->n - first;
	bool has_any = ANY(i, n, own[i].known->nim != KNOWN_NOT_NIM);
	bool is_refc = ANY(i, n, own[i].known->nim == KNOWN_NIM_OBJECT);
	bool is_nim = has_any && has_name(module, "rawAlloc__system_");
	bool is_orc = is_nim && !is_refc && has_name(module, "collectCycles");
	for (size_t i = first; i < out->n; i++) {
		out->items[i].behind = nim_head(out->items[i].known->nim, is_orc, is_refc);
	}
	vec_keep(out, first, f, f->known->nim == KNOWN_NOT_NIM || is_nim);
}

/** Likewise, drop short names whose allocator's `free` is missing. */
static void judge_families(struct found_functions *out, size_t first,
		const struct module_code *module) {
	const char *family;
	vec_keep(out, first, f, !(family = known_family(f->known)) || find_has_free_of(module, family));
}

/** Add what is hooked in a module only because it has an allocator. False: out of memory. */
static bool add_beside(struct found_functions *out, const struct module_code *module) {
	struct elf_symbols symbols = elf_symbols_all(&module->image);
	struct elf_symbol s;
	const struct known_function *known;
	return EVERY(elf_symbols_next(&symbols, &s),
			!(known = known_beside(s.name)) || !find_is_code(&s) ||
					is_found(out, module->bias + s.address, s.name) ||
					found_add(out, module, known, module->bias + s.address, s.size));
}

bool find_is_stripped_static(const struct module_code *module) {
	const struct elf_image *e = &module->image;
	// A static-pie's dynamic table has only its first entry, which means nothing
	return elf_segment_of(e, PT_INTERP).type == PT_NULL && elf_symbols_of(e, SHT_DYNSYM).n == 0 &&
			elf_symbols_of(e, SHT_SYMTAB).n == 0;
}

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
	EACH_THAT(module, *modules,
			!find_is_loader(module) && !find_is_of_tool(module) && !look_at(out, module)) {
		vec_finish(out);
		return err_memory(err);
	}
	return true;
}
