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

// For each hook: what to do without a real function, and the function that stands in the table
// first, which finds the real one.
#define FOUND_BY(find, result, name, parameters, arguments, without)                             \
	extern result our_##name parameters __asm__(#name);                                          \
	static result without_##name parameters {                                                    \
		return without;                                                                          \
	}                                                                                            \
	static result find_##name parameters {                                                       \
		result(*found) parameters = (result(*) parameters)find(#name, (const void *)our_##name); \
		if (found == NULL) {                                                                     \
			found = without_##name;                                                              \
		}                                                                                        \
		__atomic_store_n(&real.name, found, __ATOMIC_RELAXED);                                   \
		return found arguments;                                                                  \
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
