// SPDX-License-Identifier: MIT
#include "injector/find.h"

#include "base/vec.h"

#include <elf.h>
#include <string.h>

enum {
	NONE = RESIDENT_NO_REGISTER,
	// Of an object, before what points to it: its count, and with orc a place among the roots
	NIM_HEADER_ARC = 8,
	NIM_HEADER_ORC = 16,
};

/** A function as its last name, behind the prefix, tells it. */
struct known_function {
	const char *name;
	uint8_t what, ptr, size, times;
	bool is_nim_free, is_behind_header;
};

#define KNOWN(its_name, does, in, bytes, n) \
	{ .name = its_name, .what = does, .ptr = in, .size = bytes, .times = n }
#define ALLOCATES(name, size)        KNOWN(name, RESIDENT_ALLOCATES, NONE, size, NONE)
#define ALLOCATES_N(name, n, size)   KNOWN(name, RESIDENT_ALLOCATES, NONE, size, n)
#define ALLOCATES_AT(name, at, size) KNOWN(name, RESIDENT_ALLOCATES_AT, at, size, NONE)
#define REALLOCATES(name, ptr, size) KNOWN(name, RESIDENT_REALLOCATES, ptr, size, NONE)
#define FREES(name, ptr)             KNOWN(name, RESIDENT_FREES, ptr, NONE, NONE)

// reallocarray and its kind call realloc, whose own beginning is patched
static const struct known_function common[] = {
		ALLOCATES("malloc", 0),
		FREES("free", 0),
		ALLOCATES_N("calloc", 0, 1),
		REALLOCATES("realloc", 0, 1),
		ALLOCATES("memalign", 1),
		ALLOCATES("aligned_alloc", 1),
		ALLOCATES_AT("posix_memalign", 0, 2),
		ALLOCATES("valloc", 0),
		ALLOCATES("pvalloc", 0),
		FREES("cfree", 0),
		// jemalloc
		ALLOCATES("mallocx", 0),
		REALLOCATES("rallocx", 0, 1),
		FREES("dallocx", 0),
		FREES("sdallocx", 0),
};

// mimalloc, which other names of its own
static const struct known_function mimalloc[] = {
		ALLOCATES("malloc_small", 0),
		ALLOCATES("zalloc", 0),
		ALLOCATES("zalloc_small", 0),
		ALLOCATES("malloc_aligned", 0),
		ALLOCATES("zalloc_aligned", 0),
		ALLOCATES_N("mallocn", 0, 1),
		REALLOCATES("realloc_aligned", 0, 1),
		REALLOCATES("rezalloc", 0, 1),
		FREES("free_size", 0),
		FREES("free_aligned", 0),
		FREES("free_size_aligned", 0),
};

// Nim's optimiser puts rawDealloc into these, of release builds with orc and arc. Not into others that
// run destructors, which free more
static const struct known_function nim_frees[] = {
		{"dealloc", RESIDENT_FREES, 0, NONE, NONE, .is_nim_free = true},
		{"alignedDealloc", RESIDENT_FREES, 0, NONE, NONE, .is_nim_free = true},
		{"nimRawDispose", RESIDENT_FREES, 0, NONE, NONE, .is_nim_free = true,
				.is_behind_header = true},
};

static const char *const prefixes[] = {"", "je_", "_rjem_", "mi_", "tc_", "sn_", "__libc_"};

static const struct known_function *look_up(const char *name, const struct known_function *table,
		size_t n) {
	for (size_t i = 0; i < n; i++) {
		if (strcmp(table[i].name, name) == 0) {
			return &table[i];
		}
	}
	return NULL;
}

/** Nim's own: raw(A|Dea)lloc__system_N(region, size or block), in each of its memory managers. */
static const struct known_function *look_up_nim(const char *name) {
	static const struct known_function allocates = ALLOCATES("rawAlloc", 1);
	static const struct known_function frees = FREES("rawDealloc", 1);
	const struct known_function *found = NULL;
	const char *rest = name;
	if (strncmp(name, "rawAlloc__system_", 17) == 0) {
		found = &allocates;
		rest += 17;
	} else if (strncmp(name, "rawDealloc__system_", 19) == 0) {
		found = &frees;
		rest += 19;
	}
	rest += *rest == 'u';
	// No suffix: a clone of the compiler's (.constprop) takes other arguments
	return found && *rest && strspn(rest, "0123456789") == strlen(rest) ? found : NULL;
}

static const struct known_function *look_up_any(const char *name) {
	for (size_t i = 0; i < sizeof prefixes / sizeof *prefixes; i++) {
		size_t n = strlen(prefixes[i]);
		const struct known_function *found = strncmp(name, prefixes[i], n) != 0
				? NULL
				: look_up(name + n, common, sizeof common / sizeof *common);
		if (found) {
			return found;
		}
	}
	if (strncmp(name, "mi_", 3) == 0) {
		return look_up(name + 3, mimalloc, sizeof mimalloc / sizeof *mimalloc);
	}
	const struct known_function *frees = look_up(name, nim_frees,
			sizeof nim_frees / sizeof *nim_frees);
	return frees ? frees : look_up_nim(name);
}

/** Cheap: most names of a symbol table end here. */
static bool may_be(const char *name) {
	switch (name[0]) {
	case 'm':
	case 'f':
	case 'c':
	case 'r':
	case 'a':
	case 'p':
	case 'v':
	case 'd':
	case 's':
	case 'j':
	case 'n':
	case 't':
	case '_': return true;
	default: return false;
	}
}

static bool is_code(const struct elf_symbol *symbol) {
	// The value of STT_GNU_IFUNC is not the function but what chooses it
	return symbol->type == STT_FUNC && symbol->section != SHN_UNDEF && symbol->address != 0;
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

static bool look_through(struct found_functions *out, const struct module_code *module,
		uint32_t table) {
	struct elf_symbols symbols;
	struct elf_symbol symbol;
	if (!elf_symbols_init(&symbols, &module->image, table)) {
		return true;
	}
	while (elf_symbols_next(&symbols, &symbol)) {
		const struct known_function *known = is_code(&symbol) && may_be(symbol.name)
				? look_up_any(symbol.name)
				: NULL;
		uint64_t address = module->bias + symbol.address;
		if (!known || is_found(out, address, symbol.name)) {
			continue;
		}
		struct found_function *item = vec_push(out);
		if (!item) {
			return false;
		}
		*item = (struct found_function){
				.name = symbol.name,
				.module = module->name,
				.address = address,
				.size = symbol.size,
				.module_start = module->start,
				.module_end = module->end,
				.what = known->what,
				.ptr = known->ptr,
				.size_register = known->size,
				.times = known->times,
				.behind = known->is_behind_header ? NIM_HEADER_ARC : 0,
				.is_nim_free = known->is_nim_free,
		};
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

/** Those of the last module, from `first` on: what is Nim's is known by its allocator, orc by its cycles. */
static void judge_nim(struct found_functions *out, size_t first, const struct module_code *module) {
	bool has_any = false;
	for (size_t i = first; i < out->n; i++) {
		has_any |= out->items[i].is_nim_free;
	}
	bool is_nim = has_any && has_name(module, "rawAlloc__system_");
	bool is_orc = is_nim && has_name(module, "collectCycles");
	size_t n = first;
	for (size_t i = first; i < out->n; i++) {
		struct found_function *f = &out->items[i];
		f->behind = f->behind != 0 && is_orc ? NIM_HEADER_ORC : f->behind;
		if (!f->is_nim_free || is_nim) {
			out->items[n++] = *f;
		}
	}
	out->n = n;
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
		judge_nim(out, first, module);
	}
	return true;
}

bool find_defines_allocator(const struct elf_image *image) {
	static const uint32_t tables[] = {SHT_DYNSYM, SHT_SYMTAB};
	bool allocates = false, frees = false;
	for (unsigned i = 0; i < sizeof tables / sizeof *tables; i++) {
		struct elf_symbols symbols;
		struct elf_symbol symbol;
		bool has_table = elf_symbols_init(&symbols, image, tables[i]);
		while (has_table && elf_symbols_next(&symbols, &symbol)) {
			const struct known_function *known = is_code(&symbol) && may_be(symbol.name)
					? look_up_any(symbol.name)
					: NULL;
			allocates |= known && known->what == RESIDENT_ALLOCATES;
			frees |= known && known->what == RESIDENT_FREES && !known->is_nim_free;
		}
	}
	return allocates && frees;
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
