// SPDX-License-Identifier: MIT
/* The exported functions of allocators and of other libraries, which are rarely called. */

// Small rather than fast
#ifndef __clang__
#pragma GCC optimize("Os")
#endif
#define HOOK_INLINE static __attribute__((noinline, unused))

#include "recorder/preload/exports/replace.h"

#define HOOK(...)
#define LIBRARY_HOOK(result, name, parameters, arguments, what, without) \
	REPLACEMENT(result, name, parameters, arguments, what)
#include "recorder/hooks.def"
