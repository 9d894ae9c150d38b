// SPDX-License-Identifier: MIT
/* Each real function is looked up when first called; its place in the table says how. */
#include "recorder/preload/real.h"

#include "machine.h"
#include "recorder/core/sys.h"

/** Functions that only we define, and those whose real ones may be loaded later. */
static bool stays(const char *name) {
	return sys_after(name, "heaptrack_") != NULL || sys_after(name, "__register_frame") != NULL ||
			sys_after(name, "__deregister_frame") != NULL;
}

/**
 * At the first lookup, before the program itself loads anything, hide what only we define. A
 * library that it loads may define an allocator under the names we export; its calls are then its
 * own, as we could not tell them from another such library's.
 */
MACHINE_ALIGNS_STACK void *real_find_global(const char *name) {
	static _Atomic bool is_hidden;
	if (!is_hidden) {
		is_hidden = true;
		lookup_hide(&real, stays);
	}
	return lookup_next(name, &real);
}

static _Atomic bool has_loaded; // one was found in libraries that can be unloaded

MACHINE_ALIGNS_STACK static void *find_loaded(const char *name) {
	void *found = real_find_global(name);
	if (found == NULL) {
		has_loaded = true;
		found = lookup_function(name, &real);
	}
	return found;
}

#pragma GCC diagnostic ignored "-Wunused-parameter" // they take what the real ones take

// For each hook: what to do without a real function, what finds the real one and stores it in the
// table, and the function that the table holds at first
#define FOUND_BY(find, result, name, parameters, arguments, without)                            \
	static result without_##name parameters {                                                   \
		return without;                                                                         \
	}                                                                                           \
	static void settle_##name(void) {                                                           \
		result(*found) parameters = (result(*) parameters)find(#name);                          \
		__atomic_store_n(&real.name, found != NULL ? found : without_##name, __ATOMIC_RELAXED); \
	}                                                                                           \
	static result find_##name parameters {                                                      \
		settle_##name();                                                                        \
		return REAL(name) arguments;                                                            \
	}
#define HOOK(result, name, parameters, arguments, what, without) \
	FOUND_BY(real_find_global, result, name, parameters, arguments, without)
#define LOADED_HOOK(result, name, parameters, arguments, what, without) \
	FOUND_BY(find_loaded, result, name, parameters, arguments, without)
#define WITH_OPERATORS
#include "recorder/hooks.def"
#undef HOOK

#define HOOK(result, name, ...) .name = find_##name,
struct real real = {
#include "recorder/hooks.def"
};
#undef WITH_OPERATORS
#undef HOOK

void real_forget_loaded(void) {
	if (!has_loaded) {
		return;
	}
	has_loaded = false;
#define HOOK(...)
#define LOADED_HOOK(result, name, ...) __atomic_store_n(&real.name, find_##name, __ATOMIC_RELAXED);
#include "recorder/hooks.def"
#undef HOOK
}

void real_find_early(void) {
#define HOOK(result, name, ...) settle_##name();
#include "wire/mappings.def"
#undef HOOK
	settle_execve();
	settle_execv();
	settle_execvp();
	settle_execvpe();
	settle_fexecve();
	settle__exit();
	settle__Exit();
}

static bool is_libcs(const void *function) {
	return lookup_is_beside(function, "__libc_start_main");
}

bool real_find_allocator(void) {
#define LIBRARY_HOOK(...)
#define HOOK(result, name, ...)      \
	if (REAL(name) == find_##name) { \
		settle_##name();             \
	}
#include "wire/allocators.def"
#undef HOOK
#undef LIBRARY_HOOK
	return is_libcs((const void *)REAL(malloc)) && is_libcs((const void *)REAL(calloc)) &&
			is_libcs((const void *)REAL(realloc)) && is_libcs((const void *)REAL(free));
}
