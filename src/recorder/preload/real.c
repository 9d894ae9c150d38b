// SPDX-License-Identifier: MIT
#include "recorder/preload/real.h"

#include "machine.h"
#include "recorder/preload/lookup.h"

MACHINE_ALIGNS_STACK void *real_find_global(const char *name, const void *ours) {
	return lookup_next(name, ours);
}

MACHINE_ALIGNS_STACK void *real_find_loaded(const char *name, const void *ours) {
	return lookup_function(name, ours);
}

static void *find_library(const char *name, const void *ours) {
	void *found = real_find_global(name, ours);
	return found != NULL ? found : real_find_loaded(name, ours);
}

#pragma GCC diagnostic ignored "-Wunused-parameter" // they take what the real ones take

// For each hook: what to do without a real function, what finds the real one and puts it into the
// table, and the function that stands there first.
#define FOUND_BY(find, result, name, parameters, arguments, without)                             \
	extern result our_##name parameters __asm__(#name);                                          \
	static result without_##name parameters {                                                    \
		return without;                                                                          \
	}                                                                                            \
	static void settle_##name(void) {                                                            \
		result(*found) parameters = (result(*) parameters)find(#name, (const void *)our_##name); \
		__atomic_store_n(&real.name, found != NULL ? found : without_##name, __ATOMIC_RELAXED);  \
	}                                                                                            \
	static result find_##name parameters {                                                       \
		settle_##name();                                                                         \
		return REAL(name) arguments;                                                             \
	}
#define HOOK(result, name, parameters, arguments, what, without) \
	FOUND_BY(real_find_global, result, name, parameters, arguments, without)
#define LIBRARY_HOOK(result, name, parameters, arguments, what, without) \
	FOUND_BY(find_library, result, name, parameters, arguments, without)
#include "recorder/hooks.def"
#undef HOOK

#define HOOK(result, name, ...) .name = find_##name,
struct real real = {
#include "recorder/hooks.def"
};
#undef HOOK

void real_find_execs(void) {
	settle_execve();
	settle_execv();
	settle_execvp();
	settle_execvpe();
	settle_fexecve();
}

static bool is_libcs(const void *function) {
	return lookup_is_beside(function, "__libc_start_main");
}

void real_redirect(void) {
#define LIBRARY_HOOK(...)
#define HOOK(result, name, ...)      \
	if (REAL(name) == find_##name) { \
		settle_##name();             \
	}
#include "wire/allocators.def"
#undef HOOK
	if (!is_libcs((const void *)REAL(malloc)) || !is_libcs((const void *)REAL(calloc)) ||
			!is_libcs((const void *)REAL(realloc)) || !is_libcs((const void *)REAL(free))) {
		return;
	}
#define HOOK(result, name, ...)                                                     \
	if (is_libcs((const void *)REAL(name))) {                                       \
		lookup_redirect(#name, (const void *)REAL(name), (const void *)our_##name); \
	}
#include "wire/allocators.def"
#undef HOOK
#undef LIBRARY_HOOK
}
