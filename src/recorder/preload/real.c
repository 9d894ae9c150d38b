// SPDX-License-Identifier: MIT
#include "recorder/preload/real.h"

#include "machine.h"
#include "recorder/preload/lookup.h"

static bool begins_with(const char *name, const char *with) {
	while (*with != '\0' && *name == *with) {
		name++;
		with++;
	}
	return *with == '\0';
}

/** What is ours alone, and what a library that is loaded later is looked for. */
static bool stays(const char *name) {
	return begins_with(name, "heaptrack_") || begins_with(name, "__register_frame") ||
			begins_with(name, "__deregister_frame");
}

/**
 * At the first look, which comes before anything is loaded by the program itself. A library that it
 * loads may have an allocator of its own, under the names that we export: its calls are its own then.
 * For us, they could not be told from those of another such library.
 */
static void hide(const void *ours) {
	static _Atomic bool is_hidden;
	if (!is_hidden) {
		is_hidden = true;
		lookup_hide(ours, stays);
	}
}

MACHINE_ALIGNS_STACK void *real_find_global(const char *name, const void *ours) {
	hide(ours);
	return lookup_next(name, ours);
}

static _Atomic bool has_loaded; // one was found in a library that may be gone one day

MACHINE_ALIGNS_STACK static void *find_loaded(const char *name, const void *ours) {
	void *found = real_find_global(name, ours);
	if (found == NULL) {
		has_loaded = true;
		found = lookup_function(name, ours);
	}
	return found;
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
#define LOADED_HOOK(result, name, parameters, arguments, what, without) \
	FOUND_BY(find_loaded, result, name, parameters, arguments, without)
#include "recorder/hooks.def"
#undef HOOK

#define HOOK(result, name, ...) .name = find_##name,
struct real real = {
#include "recorder/hooks.def"
};
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
