// SPDX-License-Identifier: MIT
/*
 * operator new and operator delete.
 *
 * Those of a C++ library call malloc and free, which are recorded: we jump to them, and stacks look
 * as without us. The operators of an allocator's library may allocate blocks directly. The first
 * call of each operator determines which case applies:
 *
 *   the next definition in the global scope is in an object with a malloc   recorded here
 *   the next definition in the global scope is in another object            jumped to
 *   none: its caller was bound before ours was hidden (real.c)              made of malloc and free
 *
 * A C program whose C++ libraries have a scope of their own calls theirs directly.
 */
#include "recorder/preload/exports/replace.h"

static void *choose(const char *name, void *recorded) {
	void *found = real_find_global(name);
	return found != NULL && !lookup_is_beside(found, "malloc") ? found : recorded;
}

#pragma GCC diagnostic ignored "-Wunused-parameter" // they take what the real ones take

// `now`: what a call goes to, the real one or `recorded`, which records around that
#define NOW(name) (__atomic_load_n(&now_##name, __ATOMIC_RELAXED))
#define OPERATOR(result, name, parameters, arguments, body)                                      \
	EXPORT result name parameters;                                                               \
	static result find_##name parameters;                                                        \
	static result(*now_##name) parameters = find_##name;                                         \
	static result recorded_##name parameters {                                                   \
		body                                                                                     \
	}                                                                                            \
	static result find_##name parameters {                                                       \
		__atomic_store_n(&now_##name, choose(#name, (void *)recorded_##name), __ATOMIC_RELAXED); \
		return NOW(name) arguments;                                                              \
	}                                                                                            \
	EXPORT result name parameters {                                                              \
		return NOW(name) arguments;                                                              \
	}
#define HOOK(...)
#define OPERATOR_NEW(name, its_name, twin, parameters, arguments, ...) \
	OPERATOR(void *, name, parameters, arguments, REPLACE_NEW(REAL(name) arguments, size, none))
#define OPERATOR_DELETE(name, its_name, parameters, arguments) \
	OPERATOR(void, name, parameters, arguments, REPLACE_FREES(REAL(name) arguments, ptr))
#include "wire/allocators.def"
