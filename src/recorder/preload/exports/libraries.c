// SPDX-License-Identifier: MIT

/* Exported functions with allocators' own names, and of other libraries: many, rarely called. */

// Small rather than fast
#define HOOK_INLINE static __attribute__((noinline, unused))

#include "recorder/preload/exports/replace.h"

#define HOOK(...)
#define LIBRARY_HOOK(result, name, parameters, arguments, what, without) \
	REPLACEMENT(result, name, parameters, arguments, what)
#include "recorder/hooks.def"
