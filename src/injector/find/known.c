// SPDX-License-Identifier: MIT
/*
 * Knows the names of functions that allocate and free: the rows of wire/allocators.def, with
 * registers in place of parameters, and functions that count only in programs of their own kind.
 */
#include "injector/find/functions.h"

enum { NONE = RESIDENT_NO_REGISTER };

// ---- the table of allocators, by the registers of a call

// A parameter's index is the offset of its byte in a struct named for the function
#define UNPACKED(...) __VA_ARGS__
#define HOOK(result, name, parameters, arguments, what, without) \
	struct at_##name {                                           \
		char UNPACKED arguments;                                 \
	};
#define OPERATOR_NEW(name, ...)
#define OPERATOR_DELETE(name, ...)
#include "wire/allocators.def"
#undef HOOK
#undef OPERATOR_NEW
#undef OPERATOR_DELETE

#define AT(name, parameter) offsetof(struct at_##name, parameter)
#define ROW_AS(its_name, kind, in, bytes, n, ...) \
	{ .name = #its_name, .what = (kind), .ptr = in, .size = bytes, .times = n, __VA_ARGS__ }
#define ROW(its_name, does, ...)           ROW_AS(its_name, RESIDENT_##does, __VA_ARGS__)
#define ROW_ALLOCATES(f, size)             ROW(f, ALLOCATES, NONE, AT(f, size), NONE)
#define ROW_ALLOCATES_N(f, n, size)        ROW(f, ALLOCATES, NONE, AT(f, size), AT(f, n))
#define ROW_ALLOCATES_TEXT(f, none)        ROW(f, ALLOCATES, NONE, RESIDENT_TEXT, NONE)
#define ROW_ALLOCATES_AT(f, at, size)      ROW(f, ALLOCATES_AT, AT(f, at), AT(f, size), NONE)
#define ROW_REALLOCATES(f, ptr, size)      ROW(f, REALLOCATES, AT(f, ptr), AT(f, size), NONE)
#define ROW_REALLOCATES_N(f, ptr, n, size) ROW(f, REALLOCATES, AT(f, ptr), AT(f, size), AT(f, n))
#define ROW_REALLOCATES_AT(f, at, n, size) ROW(f, REALLOCATES_AT, AT(f, at), AT(f, size), AT(f, n))
#define ROW_FREES(f, ptr)                  ROW(f, FREES, AT(f, ptr), NONE, NONE)

// Like C++ operators. One that throws must not be called from the recorder's frame, which no
// exception passes: its twin is, which returns NULL, and only then the function itself
#define OPERATOR(...) ROW(__VA_ARGS__, .is_operator = true)
#define ROW_NEW(f, size, twin) \
	OPERATOR(f, ALLOCATES_OR_THROWS, NONE, AT(f, size), NONE, .quiet = #twin)
#define ROW_NEW_N(f, n, size, twin) \
	OPERATOR(f, ALLOCATES_OR_THROWS, NONE, AT(f, size), AT(f, n), .quiet = #twin)
#define ROW_RENEW(f, ptr, size, twin) \
	OPERATOR(f, REALLOCATES_OR_THROWS, AT(f, ptr), AT(f, size), NONE, .quiet = #twin)
#define ROW_RENEW_N(f, ptr, n, size, twin) \
	OPERATOR(f, REALLOCATES_OR_THROWS, AT(f, ptr), AT(f, size), AT(f, n), .quiet = #twin)
#define ROW_NEW_NOTHROW(f, size) OPERATOR(f, ALLOCATES, NONE, AT(f, size), NONE)
#define ROW_DELETE(f, ptr)       OPERATOR(f, FREES, AT(f, ptr), NONE, NONE)

#define ROW_OF(name, ...)                                        ROW_OF_WORD(name, __VA_ARGS__)
#define ROW_OF_WORD(name, word, ...)                             ROW_##word(name, __VA_ARGS__)
#define HOOK(result, name, parameters, arguments, what, without) ROW_OF(name, UNPACKED what),
#define OPERATOR_NEW(f, its_name, twin, ...)                                             \
	ROW_AS(f, (twin) ? RESIDENT_ALLOCATES_OR_THROWS : RESIDENT_ALLOCATES, NONE, 0, NONE, \
			.is_operator = true, .shown = its_name, .quiet = (twin)),
#define OPERATOR_DELETE(f, its_name, ...) \
	ROW(f, FREES, 0, NONE, NONE, .is_operator = true, .shown = its_name),

// Release builds of Nim inline rawAlloc and rawDealloc into these. Others that they are inlined
// into run destructors, and so free more than one block: those are not listed
#define NIM_ALLOCATES(name, size, which) ROW(name, ALLOCATES_WITHIN, NONE, size, NONE, .nim = which)
#define NIM_FREES(name, ptr, which)      ROW(name, FREES, ptr, NONE, NONE, .nim = which)

static const struct known_function plain[] = {
#include "wire/allocators.def"
		// Firefox's own, which do not call its malloc; those of others do
		ROW(strdup, ALLOCATES, NONE, RESIDENT_TEXT, NONE, .family = "moz_arena_"),
		ROW(strndup, ALLOCATES, NONE, RESIDENT_TEXT, NONE, .family = "moz_arena_"),
		NIM_FREES(dealloc, 0, KNOWN_NIM_BLOCK),
		NIM_FREES(alignedDealloc, 0, KNOWN_NIM_BLOCK),
		NIM_FREES(nimRawDispose, 0, KNOWN_NIM_DISPOSES),
		NIM_ALLOCATES(newObj, 1, KNOWN_NIM_OBJECT),
		NIM_ALLOCATES(newObjNoInit, 1, KNOWN_NIM_OBJECT),
		NIM_ALLOCATES(newObjRC1, 1, KNOWN_NIM_OBJECT),
		NIM_ALLOCATES(rawNewStringNoInit, RESIDENT_NIM_STRING, KNOWN_NIM_OBJECT),
};
#undef OPERATOR_NEW
#undef OPERATOR_DELETE

// ---- what is hooked beside an allocator

#define ROW_MAPPING(f, does, ...) ROW(f, does, NONE, NONE, NONE)
#define ROW_CALLS(f, ...)         ROW(f, CALLS, NONE, NONE, NONE)

static const struct known_function beside[] = {
		ROW(prctl, CONFINES, 0, 1, NONE),
		ROW(execve, EXECS, NONE, NONE, NONE), // execv and execvp call it
		ROW(execveat, EXECS, NONE, NONE, NONE), ROW(fexecve, EXECS, NONE, NONE, NONE),
		ROW(_exit, ENDS, NONE, NONE, NONE), // exit() calls it
		ROW(_Exit, ENDS, NONE, NONE, NONE),
		ROW(_Fork, FORKS, NONE, NONE, NONE), // fork() calls it, behind its handlers; before glibc
		ROW(fork, FORKS, NONE, NONE, NONE),  // 2.34 there is only this
#include "wire/mappings.def"
};

#define NAMED(its_name, table)     \
	FIND(item, table, N_OF(table), \
			*(its_name) == *item->name && strcmp((its_name), item->name) == 0)

const struct known_function *known_beside(const char *name) {
	return NAMED(name, beside);
}

// ---- by name

/** NAME__system_N of Nim. */
static const struct known_function nim_numbered[] = {
		ROW(rawAlloc, ALLOCATES, NONE, 1, NONE), // (region, size)
		ROW(rawDealloc, FREES, 1, NONE, NONE),
		NIM_ALLOCATES(rawNewObj, 1, KNOWN_NIM_OBJECT),
		NIM_ALLOCATES(alloc, 1, KNOWN_NIM_BLOCK),
		NIM_ALLOCATES(alloc0, 1, KNOWN_NIM_BLOCK),
		NIM_ALLOCATES(allocImpl, 0, KNOWN_NIM_BLOCK),
		NIM_ALLOCATES(alloc0Impl, 0, KNOWN_NIM_BLOCK),
		NIM_ALLOCATES(allocSharedImpl, 0, KNOWN_NIM_BLOCK),
		NIM_ALLOCATES(allocShared0Impl, 0, KNOWN_NIM_BLOCK),
		NIM_ALLOCATES(realloc, 2, KNOWN_NIM_BLOCK), // (region, old, size)
		NIM_ALLOCATES(reallocImpl, 1, KNOWN_NIM_BLOCK),
		NIM_ALLOCATES(realloc0Impl, 2, KNOWN_NIM_BLOCK), // (old, its size, size)
		NIM_ALLOCATES(reallocSharedImpl, 1, KNOWN_NIM_BLOCK),
		NIM_ALLOCATES(reallocShared0Impl, 2, KNOWN_NIM_BLOCK),
		NIM_FREES(dealloc, 1, KNOWN_NIM_BLOCK),
		NIM_FREES(deallocImpl, 0, KNOWN_NIM_BLOCK),
		NIM_FREES(deallocSharedImpl, 0, KNOWN_NIM_BLOCK),
};

/** NAME__system_N. A clone (.constprop) takes other arguments, and counts if functions.c knows. */
static const struct known_function *look_up_nim(const char *name) {
	static const char middle[] = "__system_", clone[] = ".constprop.";
	const char *at = strstr(name, middle);
	if (!at) {
		return NULL;
	}
	const char *rest = at + sizeof middle - 1;
	rest += *rest == 'u';
	size_t n = (size_t)(at - name), n_digits = strspn(rest, "0123456789");
	bool is_clone = strncmp(rest + n_digits, clone, sizeof clone - 1) == 0;
	const struct known_function *found = FIND(f, nim_numbered, N_OF(nim_numbered),
			strlen(f->name) == n && strncmp(name, f->name, n) == 0);
	bool is_it = n_digits > 0 && found &&
			(rest[n_digits] == '\0' || (is_clone && found->nim == KNOWN_NIM_OBJECT));
	return is_it ? found : NULL;
}

// By their first letters, which few other function names share
static bool has_beginning[1 << 12];

static bool *beginning_of(const char *name) {
	enum { LETTERS = 3 };
	unsigned hash = 0;
	for (int i = 0; i < LETTERS && name[i]; i++) {
		hash = hash * 37 + (uint8_t)name[i];
	}
	return &has_beginning[hash % N_OF(has_beginning)];
}

/** Before main, so without other threads. */
__attribute__((constructor)) static void note_beginnings(void) {
	EACH_OF(f, plain, N_OF(plain)) {
		*beginning_of(f->name) = true;
	}
	EACH_OF(f, nim_numbered, N_OF(nim_numbered)) {
		*beginning_of(f->name) = true;
	}
}

const struct known_function *known_function_of(const char *name) {
	return *beginning_of(name) ? NAMED(name, plain) ?: look_up_nim(name) : NULL;
}

const char *known_family(const struct known_function *f) {
	return strncmp(f->name, "mi_", 3) == 0    ? "mi_"
			: strncmp(f->name, "tc_", 3) == 0 ? "tc_"
											  : f->family;
}

// ---- symbol tables, searched linearly: only a few times per attach

bool find_is_code(const struct elf_symbol *symbol) {
	// STT_GNU_IFUNC is not the function but the code that chooses it
	return symbol->type == STT_FUNC && symbol->section != SHN_UNDEF && symbol->address != 0;
}

const struct known_function *find_known(const struct elf_symbol *symbol) {
	return find_is_code(symbol) ? known_function_of(symbol->name) : NULL;
}

bool find_code(const struct module_code *module, const char *name, struct elf_symbol *out) {
	struct elf_symbols symbols = elf_symbols_all(&module->image);
	return SOME(elf_symbols_find(&symbols, name, out), find_is_code(out));
}

static uint64_t exported(const struct module_code *module, const char *name) {
	struct elf_symbols symbols = elf_symbols_of(&module->image, SHT_DYNSYM);
	struct elf_symbol symbol;
	return elf_symbols_find(&symbols, name, &symbol) ? module->bias + symbol.address : 0;
}

bool find_has_free_of(const struct module_code *module, const char *family) {
	struct elf_symbols symbols = elf_symbols_all(&module->image);
	struct elf_symbol symbol;
	return elf_symbols_find(&symbols, FORMAT(16, "%sfree", family), &symbol);
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

/** Not a language runtime's, which has another allocator behind it. */
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
	static const char variable[] = "GC_INITIAL_HEAP_SIZE"; // which the collector reads at its start
	struct elf_symbol symbol;
	if (find_code(m, "GC_gcollect", &symbol)) {
		return find_code(m, "GC_malloc", &symbol);
	}
	bool is_program = m->image.type == ET_EXEC ||
			elf_segment_of(&m->image, PT_INTERP).type == PT_INTERP;
	struct slice texts = elf_section_named(&m->image, ".rodata").bytes;
	return is_program && !elf_section_named(&m->image, ".symtab").bytes.size && texts.size > 0 &&
			memmem(texts.data, texts.size, variable, sizeof variable);
}

/** Is an exported function of that name or address replaced by another module's? */
static bool is_stood_in_for(const struct module_code *m, const struct elf_symbol *local,
		bool (*is_hidden)(const void *user, const char *name), const void *user) {
	struct elf_symbols symbols = elf_symbols_of(&m->image, SHT_DYNSYM);
	struct elf_symbol s;
	return SOME(elf_symbols_next(&symbols, &s),
			(s.address == local->address || strcmp(s.name, local->name) == 0) && known_plain(&s) &&
					!is_hidden(user, s.name));
}

uint32_t find_own_allocator(const struct module_code *m,
		bool (*is_hidden)(const void *user, const char *name), const void *user, char *names,
		size_t size) {
	struct elf_symbols symbols = elf_symbols_of(&m->image, SHT_SYMTAB);
	struct elf_symbol s;
	bool allocates = false, frees = false;
	uint32_t n = 0;
	size_t used = 0;
	if (find_is_loader(m) || find_is_of_tool(m) || exported(m, "__libc_malloc") != 0) {
		return 0;
	}
	symbols = symbols.n ? symbols : elf_symbols_of(&m->image, SHT_DYNSYM);
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
	uint64_t address = 0;
	EACH(m, *modules) {
		bool may_be = !module || strncmp(path_base_name(m->name), module, strlen(module)) == 0;
		address = address == 0 && may_be ? exported(m, name) : address;
	}
	return address;
}
