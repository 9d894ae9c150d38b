// SPDX-License-Identifier: MIT
/*
 * Demangles names by the prefix of their scheme: "_Z" for C++ and legacy Rust, "_R" for Rust v0,
 * "_D" for D. Other names stay. Suffixes that compilers append to clones are cut first.
 */
#include "symbols/names/names.h"

#include <libiberty/demangle.h>

// Longer ones stay mangled: demangling may take excessive time and memory
enum { MANGLED_BYTES_MAX = 16 << 10, DEMANGLED_BYTES_MAX = 64 << 10 };

static struct slice after_last_dot(struct slice s) {
	const uint8_t *dot = s.size ? memrchr(s.data, '.', s.size) : NULL;
	return dot > s.data ? slice_of(dot + 1, (size_t)(s.data + s.size - dot - 1))
						: (struct slice){0};
}

/** Drop one ".word" or ".word.number" of a clone. False: none. */
static bool cut_suffix(struct slice *name) {
	static const char alone[] = "|cold|localalias";
	static const char
			numbered[] = "|llvm|part|constprop|isra|cold|lto_priv|localalias|clone|__uniq";
	struct slice last = after_last_dot(*name);
	size_t cut = last.size + 1;
	if (is_any(last, alone)) {
		name->size -= cut;
		return true;
	}
	bool is_number = last.size > 0 && ALL(i, last.size, isdigit(last.data[i]));
	struct slice word = after_last_dot(slice_of(name->data, is_number ? name->size - cut : 0));
	if (!is_any(word, numbered)) {
		return false;
	}
	name->size -= cut + word.size + 1;
	return true;
}

struct slice names_without_suffixes(const char *linkage_name) {
	struct slice name = slice_of_text(linkage_name);
	// "memcpy@@GLIBC_2.14": the version is not part of the name
	const uint8_t *version = memchr(name.data, '@', name.size);
	name.size = version > name.data ? (size_t)(version - name.data) : name.size;
	while (cut_suffix(&name)) {}
	return name;
}

static char *demangle(const char *name) {
	enum { OPTIONS = DMGL_PARAMS | DMGL_ANSI };
	if (name[0] != '_') {
		return NULL;
	}
	switch (name[1]) {
	case 'Z': {
		char *rust = rust_demangle(name, OPTIONS);
		return rust ? rust : cplus_demangle_v3(name, OPTIONS);
	}
	case 'R': return rust_demangle(name, OPTIONS);
	case 'D':
		return isdigit((unsigned char)name[2]) || strcmp(name, "_Dmain") == 0
				? dlang_demangle(name, OPTIONS)
				: NULL;
	default: return NULL;
	}
}

/** NULL also for excessive names. */
static char *demangle_bounded(const char *name) {
	char *demangled = strlen(name) <= MANGLED_BYTES_MAX ? demangle(name) : NULL;
	if (demangled && strlen(demangled) > DEMANGLED_BYTES_MAX) {
		free(demangled);
		demangled = NULL;
	}
	return demangled;
}

static int capital_hex_digit(uint8_t c) {
	return islower(c) ? -1 : hex_digit(c);
}

static const char *nim_name(struct slice name, struct arena *arena) {
	const struct slice module = nim_module_of(name);
	const size_t size = module.size ? (size_t)(module.data - name.data) - 2 : 0;
	char *text = arena_text(arena, slice_of(name.data, size ? size : name.size));
	if (!size) {
		return text;
	}
	// Nim writes operators as X and two digits: X5BX5D is []
	char *to = text;
	for (size_t i = 0; i < size; i++) {
		int high = i + 2 < size && name.data[i] == 'X' ? capital_hex_digit(name.data[i + 1]) : -1;
		int low = i + 2 < size ? capital_hex_digit(name.data[i + 2]) : -1;
		if (i + 2 < size && high >= 0 && low >= 0 && ispunct(high << 4 | low)) {
			*to++ = (char)(high << 4 | low);
			i += 2;
		} else {
			*to++ = (char)name.data[i];
		}
	}
	*to = 0;
	return text;
}

/**
 * A file's static initializers: gcc names them after the first of its symbols
 * (_GLOBAL__sub_I_main), clang after the file. NULL: another function.
 */
static char *name_initializers(const char *name, struct arena *arena) {
	static const char *const named[] = {"_GLOBAL__sub_I_", "_GLOBAL__I_"};
	EACH_NUMBER(i, N_OF(named), strncmp(name, named[i], strlen(named[i])) == 0) {
		const char *after = name + strlen(named[i]);
		FREED char *demangled = demangle_bounded(after);
		bool is_file = !demangled && strchr(after, '.');
		return arena_printf(arena, "static initializers of %s%s", is_file ? "" : "the file with ",
				demangled ? demangled : after);
	}
	return NULL;
}

const char *names_demangle(const char *linkage_name, enum names_scheme scheme,
		struct arena *arena) {
	struct slice name = names_without_suffixes(linkage_name);
	char *text = arena_text(arena, name);
	if (scheme == NAMES_C) {
		return text;
	}
	char *initializers = name_initializers(text, arena);
	if (initializers) {
		return initializers;
	}
	FREED char *demangled = demangle_bounded(text);
	if (demangled) {
		// The demangler shows unknown suffixes: "f(int) [clone .avx2]".
		char *clone = strstr(demangled, " [clone ");
		if (clone) {
			*clone = '\0';
		}
		text = arena_text(arena, slice_of_text(demangled));
	} else if (!demangled && scheme == NAMES_NIM) {
		text = (char *)nim_name(name, arena);
	}
	return text;
}
