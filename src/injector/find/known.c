// SPDX-License-Identifier: MIT

/*
 * The rows of wire/allocators.def, with a call's registers in place of its parameters, in a hash
 * table; and some functions that only count in programs of their own.
 */

#include "injector/find/known.h"

#include "base/check.h"
#include "wire/allocators.h"
#include "wire/resident.h"

#include <pthread.h>
#include <stddef.h>
#include <string.h>

enum { NONE = RESIDENT_NO_REGISTER };

// ---- the table of allocators, as the registers of a call have it

// A parameter's place among the others is the offset of its byte in a struct named for the function
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

// Like C++'s operators. One that throws must not be called from the recorder's frame, which no
// exception passes: its twin is, which returns NULL instead, and only then the function itself
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
#define HOOK(result, name, parameters, arguments, what, without) ROW_OF(name, OPERANDS_##what),
#define OPERATOR_NEW(f, its_name, twin, ...)                                             \
	ROW_AS(f, (twin) ? RESIDENT_ALLOCATES_OR_THROWS : RESIDENT_ALLOCATES, NONE, 0, NONE, \
			.is_operator = true, .shown = its_name, .quiet = (twin)),
#define OPERATOR_DELETE(f, its_name, ...) \
	ROW(f, FREES, 0, NONE, NONE, .is_operator = true, .shown = its_name),

static const struct known_function known[] = {
#include "wire/allocators.def"
};
#undef HOOK
#undef OPERATOR_NEW
#undef OPERATOR_DELETE

// ---- what is hooked beside an allocator

#define OPERANDS_MAPS(...)                                       MAPS
#define OPERANDS_UNMAPS(...)                                     UNMAPS
#define OPERANDS_REMAPS(...)                                     REMAPS
#define OPERANDS_PROTECTS(...)                                   PROTECTS
#define OPERANDS_BREAKS                                          BREAKS
#define OPERANDS_CALLS(...)                                      CALLS
#define MAPPING_ROW(f, does)                                     ROW(f, does, NONE, NONE, NONE),
#define HOOK(result, name, parameters, arguments, what, without) MAPPING_ROW(name, OPERANDS_##what)

static const struct known_function beside[] = {
		ROW(prctl, CONFINES, 0, 1, NONE),
		ROW(execve, EXECS, NONE, NONE, NONE), // execv and execvp call it
		ROW(execveat, EXECS, NONE, NONE, NONE),
		ROW(fexecve, EXECS, NONE, NONE, NONE),
		ROW(_exit, ENDS, NONE, NONE, NONE), // exit() calls it
		ROW(_Exit, ENDS, NONE, NONE, NONE),
#include "wire/mappings.def"
};
#undef HOOK

const struct known_function *known_beside(const char *name) {
	for (size_t i = 0; i < sizeof beside / sizeof *beside; i++) {
		if (*name == *beside[i].name && strcmp(name, beside[i].name) == 0) {
			return &beside[i];
		}
	}
	return NULL;
}

// ---- Firefox

// Only its own, which do not call its malloc; those of others do, and are no allocator's
static const struct known_function firefox[] = {
		ROW(strdup, ALLOCATES, NONE, RESIDENT_TEXT, NONE),
		ROW(strndup, ALLOCATES, NONE, RESIDENT_TEXT, NONE),
};
enum { N_FIREFOX = sizeof firefox / sizeof *firefox };

// ---- Nim

// Release builds of Nim inline rawAlloc and rawDealloc into these. They inline them into others as
// well, which run destructors and so free more than one block: those are not listed
#define NIM_ALLOCATES(name, size, which) ROW(name, ALLOCATES_WITHIN, NONE, size, NONE, .nim = which)
#define NIM_FREES(name, ptr, which)      ROW(name, FREES, ptr, NONE, NONE, .nim = which)

static const struct known_function nim[] = {
		NIM_FREES(dealloc, 0, KNOWN_NIM_BLOCK),
		NIM_FREES(alignedDealloc, 0, KNOWN_NIM_BLOCK),
		NIM_FREES(nimRawDispose, 0, KNOWN_NIM_DISPOSES),
		NIM_ALLOCATES(newObj, 1, KNOWN_NIM_OBJECT),
		NIM_ALLOCATES(newObjNoInit, 1, KNOWN_NIM_OBJECT),
		NIM_ALLOCATES(newObjRC1, 1, KNOWN_NIM_OBJECT),
		NIM_ALLOCATES(rawNewStringNoInit, RESIDENT_NIM_STRING, KNOWN_NIM_OBJECT),
};

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

// ---- by name

enum {
	N_KNOWN = sizeof known / sizeof *known,
	PLACES = 1024,
	BEGINNINGS = 4096,
	NAME_MAX_BYTES = 48
};

static uint16_t places[PLACES];              // index + 1 into `known`, with open addressing
static uint64_t beginnings[BEGINNINGS / 64]; // a bit for each beginning_of() a known name
static pthread_once_t is_filled = PTHREAD_ONCE_INIT;

/** False: it is longer than all that are known. */
static bool hash_of(const char *name, uint32_t *hash) {
	*hash = 2166136261u;
	for (size_t i = 0; name[i]; i++) {
		if (i == NAME_MAX_BYTES) {
			return false;
		}
		*hash = (*hash ^ (uint8_t)name[i]) * 16777619u;
	}
	return true;
}

/** A hash of the first three characters. */
static unsigned beginning_of(const char *name) {
	unsigned at = 0;
	for (unsigned i = 0; i < 3; i++) {
		at = at * 31 + (uint8_t)*name;
		name += *name != '\0';
	}
	return at % BEGINNINGS;
}

static void note_beginnings(const struct known_function *functions, size_t n) {
	for (size_t i = 0; i < n; i++) {
		unsigned at = beginning_of(functions[i].name);
		beginnings[at / 64] |= 1ull << at % 64;
	}
}

static void fill(void) {
	_Static_assert(N_KNOWN < PLACES / 2, "few collide");
	for (uint16_t i = 0; i < N_KNOWN; i++) {
		uint32_t at;
		check(hash_of(known[i].name, &at));
		while (places[at % PLACES] != 0) {
			at++;
		}
		places[at % PLACES] = (uint16_t)(i + 1);
	}
	note_beginnings(known, N_KNOWN);
	note_beginnings(firefox, N_FIREFOX);
	note_beginnings(nim, sizeof nim / sizeof *nim);
	note_beginnings(nim_numbered, sizeof nim_numbered / sizeof *nim_numbered);
}

static const struct known_function *look_up(const char *name) {
	uint32_t at;
	(void)pthread_once(&is_filled, fill);
	if (!hash_of(name, &at)) {
		return NULL;
	}
	for (; places[at % PLACES] != 0; at++) {
		const struct known_function *f = &known[places[at % PLACES] - 1];
		if (strcmp(f->name, name) == 0) {
			return f;
		}
	}
	return NULL;
}

/**
 * NAME__system_N. A clone by the compiler (.constprop) takes other arguments, and counts only where
 * functions.c can tell which.
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
	const struct known_function *found = look_up(name);
	for (size_t i = 0; !found && i < N_FIREFOX; i++) {
		found = strcmp(firefox[i].name, name) == 0 ? &firefox[i] : NULL;
	}
	for (size_t i = 0; !found && i < sizeof nim / sizeof *nim; i++) {
		found = strcmp(nim[i].name, name) == 0 ? &nim[i] : NULL;
	}
	return found ? found : look_up_nim(name);
}

const char *known_family(const struct known_function *f) {
	static const char *const families[] = {"mi_", "tc_"};
	if (f >= firefox && f < firefox + N_FIREFOX) {
		return "moz_arena_";
	}
	for (size_t i = 0; i < sizeof families / sizeof *families; i++) {
		if (strncmp(f->name, families[i], strlen(families[i])) == 0) {
			return families[i];
		}
	}
	return NULL;
}

bool known_may_be(const char *name) {
	(void)pthread_once(&is_filled, fill);
	unsigned at = beginning_of(name);
	return (beginnings[at / 64] >> at % 64 & 1) != 0;
}
