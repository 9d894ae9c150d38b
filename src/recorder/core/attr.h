// SPDX-License-Identifier: MIT
#pragma once
/** Hints and orders for the compiler. */

/** The usual and the unusual outcome of a test: the fast path runs straight on. */
#define likely(condition)   __builtin_expect(!!(condition), 1)
#define unlikely(condition) __builtin_expect(!!(condition), 0)

/** Always, or never, part of its caller. COLD is also kept away from code that runs often. */
#define INLINE  static inline __attribute__((always_inline))
#define OUTLINE __attribute__((noinline))
#define COLD    __attribute__((noinline, cold))

/** A function that the program calls. */
#define EXPORT __attribute__((visibility("default"), used))

/** Data of this library, reached directly and not through the table of global addresses. */
#define LOCAL __attribute__((visibility("hidden")))
