// SPDX-License-Identifier: MIT
#include "injector/known.h"

#include "wire/resident.h"

#include <stddef.h>
#include <string.h>

enum { NONE = RESIDENT_NO_REGISTER };

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
		// snmalloc, for Rust: (alignment, size), (block, alignment, its size, size)
		ALLOCATES("rust_alloc", 1),
		ALLOCATES("rust_alloc_zeroed", 1),
		REALLOCATES("rust_realloc", 0, 3),
		FREES("rust_dealloc", 0),
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

// Nim's optimiser puts rawAlloc and rawDealloc into these in release builds. Not into others that run
// destructors, which free more
#define NIM_ALLOCATES(name, size, which) \
	{ name, RESIDENT_ALLOCATES_WITHIN, NONE, size, NONE, .nim = which }
#define NIM_FREES(name, ptr, which) \
	{ name, RESIDENT_FREES, ptr, NONE, NONE, .nim = which }

static const struct known_function nim[] = {
		NIM_FREES("dealloc", 0, KNOWN_NIM_BLOCK),
		NIM_FREES("alignedDealloc", 0, KNOWN_NIM_BLOCK),
		NIM_FREES("nimRawDispose", 0, KNOWN_NIM_DISPOSES),
		NIM_ALLOCATES("newObj", 1, KNOWN_NIM_OBJECT),
		NIM_ALLOCATES("newObjNoInit", 1, KNOWN_NIM_OBJECT),
		NIM_ALLOCATES("newObjRC1", 1, KNOWN_NIM_OBJECT),
		NIM_ALLOCATES("rawNewStringNoInit", RESIDENT_NIM_STRING, KNOWN_NIM_OBJECT),
};

// NAME__system_N
static const struct known_function nim_numbered[] = {
		ALLOCATES("rawAlloc", 1), // (region, size)
		FREES("rawDealloc", 1),
		NIM_ALLOCATES("rawNewObj", 1, KNOWN_NIM_OBJECT),
		NIM_ALLOCATES("alloc", 1, KNOWN_NIM_BLOCK),
		NIM_ALLOCATES("alloc0", 1, KNOWN_NIM_BLOCK),
		NIM_ALLOCATES("allocImpl", 0, KNOWN_NIM_BLOCK),
		NIM_ALLOCATES("alloc0Impl", 0, KNOWN_NIM_BLOCK),
		NIM_ALLOCATES("allocSharedImpl", 0, KNOWN_NIM_BLOCK),
		NIM_ALLOCATES("allocShared0Impl", 0, KNOWN_NIM_BLOCK),
		NIM_ALLOCATES("realloc", 2, KNOWN_NIM_BLOCK), // (region, old, size)
		NIM_ALLOCATES("reallocImpl", 1, KNOWN_NIM_BLOCK),
		NIM_ALLOCATES("realloc0Impl", 2, KNOWN_NIM_BLOCK), // (old, its size, size)
		NIM_ALLOCATES("reallocSharedImpl", 1, KNOWN_NIM_BLOCK),
		NIM_ALLOCATES("reallocShared0Impl", 2, KNOWN_NIM_BLOCK),
		NIM_FREES("dealloc", 1, KNOWN_NIM_BLOCK),
		NIM_FREES("deallocImpl", 0, KNOWN_NIM_BLOCK),
		NIM_FREES("deallocSharedImpl", 0, KNOWN_NIM_BLOCK),
};

// The C++ operators of an allocator. One that throws cannot be called with a frame of ours on the stack,
// which no exception passes: its twin is, that says so by NULL, and only if it does, the one itself in the end
#define NEW(name, its_name, twin)                                                                  \
	{                                                                                              \
		name, RESIDENT_ALLOCATES_OR_THROWS, NONE, 0, NONE, .is_operator = true, .shown = its_name, \
														   .quiet = twin                           \
	}
#define NEW_NOTHROW(name, its_name) \
	{ name, RESIDENT_ALLOCATES, NONE, 0, NONE, .is_operator = true, .shown = its_name }
#define DELETE(name, its_name) \
	{ name, RESIDENT_FREES, 0, NONE, NONE, .is_operator = true, .shown = its_name }

static const struct known_function operators[] = {
		NEW("_Znwm", "operator new", "_ZnwmRKSt9nothrow_t"),
		NEW("_Znam", "operator new[]", "_ZnamRKSt9nothrow_t"),
		NEW("_ZnwmSt11align_val_t", "operator new, aligned", "_ZnwmSt11align_val_tRKSt9nothrow_t"),
		NEW("_ZnamSt11align_val_t", "operator new[], aligned",
				"_ZnamSt11align_val_tRKSt9nothrow_t"),
		NEW_NOTHROW("_ZnwmRKSt9nothrow_t", "operator new, nothrow"),
		NEW_NOTHROW("_ZnamRKSt9nothrow_t", "operator new[], nothrow"),
		NEW_NOTHROW("_ZnwmSt11align_val_tRKSt9nothrow_t", "operator new, aligned, nothrow"),
		NEW_NOTHROW("_ZnamSt11align_val_tRKSt9nothrow_t", "operator new[], aligned, nothrow"),
		DELETE("_ZdlPv", "operator delete"),
		DELETE("_ZdaPv", "operator delete[]"),
		DELETE("_ZdlPvm", "operator delete, sized"),
		DELETE("_ZdaPvm", "operator delete[], sized"),
		DELETE("_ZdlPvRKSt9nothrow_t", "operator delete, nothrow"),
		DELETE("_ZdaPvRKSt9nothrow_t", "operator delete[], nothrow"),
		DELETE("_ZdlPvSt11align_val_t", "operator delete, aligned"),
		DELETE("_ZdaPvSt11align_val_t", "operator delete[], aligned"),
		DELETE("_ZdlPvmSt11align_val_t", "operator delete, sized, aligned"),
		DELETE("_ZdaPvmSt11align_val_t", "operator delete[], sized, aligned"),
		DELETE("_ZdlPvSt11align_val_tRKSt9nothrow_t", "operator delete, aligned, nothrow"),
		DELETE("_ZdaPvSt11align_val_tRKSt9nothrow_t", "operator delete[], aligned, nothrow"),
		// mimalloc's own, by which C++ programs that link it call it
		NEW("mi_new", NULL, "mi_new_nothrow"),
		NEW("mi_new_aligned", NULL, "mi_new_aligned_nothrow"),
		NEW_NOTHROW("mi_new_nothrow", NULL),
		NEW_NOTHROW("mi_new_aligned_nothrow", NULL),
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

/**
 * Nim's own. No suffix: a clone of the compiler's (.constprop) takes other arguments, but for one that
 * find.c can tell the arguments of.
 */
static const struct known_function *look_up_nim(const char *name) {
	static const char middle[] = "__system_", clone[] = ".constprop.";
	const char *at = strstr(name, middle);
	if (!at) {
		return NULL;
	}
	const char *rest = at + sizeof middle - 1;
	rest += *rest == 'u';
	size_t n_digits = strspn(rest, "0123456789");
	for (size_t i = 0; n_digits > 0 && i < sizeof nim_numbered / sizeof *nim_numbered; i++) {
		const struct known_function *f = &nim_numbered[i];
		bool is_it = strlen(f->name) == (size_t)(at - name) &&
				strncmp(name, f->name, (size_t)(at - name)) == 0;
		bool is_clone = strncmp(rest + n_digits, clone, sizeof clone - 1) == 0;
		if (is_it && (rest[n_digits] == '\0' || (is_clone && f->nim == KNOWN_NIM_OBJECT))) {
			return f;
		}
	}
	return NULL;
}

const struct known_function *known_function_of(const char *name) {
	for (size_t i = 0; i < sizeof prefixes / sizeof *prefixes; i++) {
		size_t n = strlen(prefixes[i]);
		const struct known_function *found = strncmp(name, prefixes[i], n) != 0
				? NULL
				: look_up(name + n, common, sizeof common / sizeof *common);
		if (found) {
			return found;
		}
	}
	const struct known_function *found = NULL;
	if (strncmp(name, "mi_", 3) == 0) {
		found = look_up(name + 3, mimalloc, sizeof mimalloc / sizeof *mimalloc);
	}
	if (!found && (name[0] == '_' || name[0] == 'm')) {
		found = look_up(name, operators, sizeof operators / sizeof *operators);
	}
	if (!found) {
		found = look_up(name, nim, sizeof nim / sizeof *nim);
	}
	return found ? found : look_up_nim(name);
}

bool known_may_be(const char *name) {
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
	case 't': return true;
	// Most names of C++ begin with _Z; the operators new and delete with _Zn and _Zd
	case '_':
		return name[1] == 'Z' ? name[2] == 'n' || name[2] == 'd'
							  : name[1] == 'r' || (name[1] == '_' && name[2] == 'l');
	default: return false;
	}
}
