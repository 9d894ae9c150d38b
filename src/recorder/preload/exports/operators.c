// SPDX-License-Identifier: MIT
/*
 * operator new and operator delete.
 *
 * Those of a C++ library call malloc and free, which are recorded: we jump to them, and stacks look
 * as they do without us. The operators of an allocator's library may allocate blocks directly.
 * Which case applies is determined at the first call of each operator:
 *
 *   the next definition in the global scope is in an object with a malloc   recorded here
 *   the next definition in the global scope is in another object            jumped to
 *   none: its caller was bound before ours was hidden (real.c)              made of malloc and free
 *
 * A C program whose C++ libraries have a scope of their own calls theirs directly.
 */
#include "recorder/preload/exports/replace.h"

/** Operators are asked for at least a byte: each block has an address of its own. */
static inline size_t some(size_t size) {
	return size + (size == 0);
}

// ---- two tables: what a call goes to, and what a recorded operator calls

struct operators {
#define HOOK(...)
#define OPERATOR_NEW(name, its_name, twin, parameters, ...) void *(*name)parameters;
#define OPERATOR_DELETE(name, its_name, parameters, ...)    void(*name) parameters;
#include "wire/allocators.def"
#undef OPERATOR_NEW
#undef OPERATOR_DELETE
};

static struct operators now, own;

#define NOW(name) (__atomic_load_n(&now.name, __ATOMIC_ACQUIRE))

// `own` before `now`: who sees the one sees the other
#define SETTLE(name, made)                                                   \
	void *found = real_find_global(#name);                                   \
	bool is_passed_on = found != NULL && !lookup_is_beside(found, "malloc"); \
	own.name = found != NULL ? found : (void *)(made);                       \
	__atomic_store_n(&now.name, is_passed_on ? found : (void *)recorded_##name, __ATOMIC_RELEASE);

// ---- the operators

#pragma GCC diagnostic ignored "-Wunused-parameter" // they take what the real ones take

// Only a C++ library can throw where there is no memory
#define OPERATOR_NEW(name, its_name, twin, parameters, arguments, by_malloc) \
	EXPORT void *name parameters;                                            \
	static void *made_##name parameters {                                    \
		return by_malloc;                                                    \
	}                                                                        \
	static void *recorded_##name parameters {                                \
		REPLACE_NEW(own.name arguments, size, none)                          \
	}                                                                        \
	static void *find_##name parameters {                                    \
		SETTLE(name, made_##name)                                            \
		return NOW(name) arguments;                                          \
	}                                                                        \
	EXPORT void *name parameters {                                           \
		return NOW(name) arguments;                                          \
	}

#define OPERATOR_DELETE(name, its_name, parameters, arguments) \
	EXPORT void name parameters;                               \
	static void made_##name parameters {                       \
		real.free(ptr);                                        \
	}                                                          \
	static void recorded_##name parameters {                   \
		REPLACE_FREES(own.name arguments, ptr)                 \
	}                                                          \
	static void find_##name parameters {                       \
		SETTLE(name, made_##name)                              \
		NOW(name) arguments;                                   \
	}                                                          \
	EXPORT void name parameters {                              \
		NOW(name) arguments;                                   \
	}
#include "wire/allocators.def"
#undef OPERATOR_NEW
#undef OPERATOR_DELETE

#define OPERATOR_NEW(name, ...)    .name = find_##name,
#define OPERATOR_DELETE(name, ...) .name = find_##name,
static struct operators now = {
#include "wire/allocators.def"
};
