// SPDX-License-Identifier: MIT
/* The exported functions of the C library, made from hooks.def, and their start. */
#include "recorder/core/unwind/runtimes.h"
#include "recorder/preload/exports/replace.h"

#define HOOK(result, name, parameters, arguments, what, without) \
	REPLACEMENT(result, name, parameters, arguments, what)
#define LIBRARY_HOOK(...)
#include "recorder/hooks.def"
#undef HOOK

/**
 * Redirect lookups in the C library itself to our functions: libraries opened with RTLD_DEEPBIND
 * look there first. If another allocator precedes the C library's, nothing is changed: without us,
 * such libraries would use the C library's.
 */
static void redirect(void) {
	if (!real_find_allocator()) {
		return;
	}
	const struct redirection all[] = {
#define LIBRARY_HOOK(...)
#define HOOK(result, name, ...) {#name, (const void *)REAL(name), (const void *)(name)},
#include "wire/allocators.def"
	};
	lookup_redirect(all, sizeof all / sizeof *all);
}

/** Wait for the layout of a runtime, before its first function: a few ms, if others let us run. */
static void await_runtime(void) {
	enum { MOST_MS = 2000 };
	const void *own = lookup_function("_PyEval_EvalFrameDefault", (const void *)redirect)
			?: lookup_function("_ZN2v82V810GetVersionEv", (const void *)redirect);
	struct module module;
	if (own != NULL && segment.layouts != NULL && segment_may_call_system() &&
			module_find((uint64_t)own, &module)) {
		_Atomic uint32_t *awaited = &segment.header->module_awaited;
		atomic_store(awaited, module.id);
		awaiting_change(awaited, module.id, MOST_MS);
		runtimes_look();
	}
}

/** Before the program runs, so that one that first allocates after a fork is known, too. */
__attribute__((constructor)) static void begin(void) {
	if (switch_find_out()) {
		redirect();
		await_runtime();
	}
	real_find_early();
	alone_begin();
	fork_begin();
}
