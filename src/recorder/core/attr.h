// SPDX-License-Identifier: MIT
#pragma once
/** Hints and directives for the compiler. */

/** The usual and the unusual outcome of a test: the fast path falls straight through. */
#define likely(condition)   __builtin_expect(!!(condition), 1)
#define unlikely(condition) __builtin_expect(!!(condition), 0)

/** Always, or never, part of the caller. COLD code is also kept away from hot code. */
#define INLINE  static inline __attribute__((always_inline))
#define OUTLINE __attribute__((noinline))
#define COLD    __attribute__((noinline, cold))

/** A function that the program calls. */
#define EXPORT __attribute__((visibility("default"), used))

/** Data of this library, reached directly rather than through the global offset table. */
#define LOCAL __attribute__((visibility("hidden")))
