// SPDX-License-Identifier: MIT
#pragma once
/** Compiler extensions under names of our own. Only the recorder may also use them directly. */

#define ATTR_PRINTF(fmt, args) __attribute__((format(printf, fmt, args)))
#define ATTR_NODISCARD         __attribute__((warn_unused_result))
#define ATTR_NORETURN          __attribute__((noreturn))
#define ATTR_COLD              __attribute__((cold))
#define ATTR_NOINLINE          __attribute__((noinline))
// At the top of a file whose functions stand for others and use nothing that they are given
#define ATTR_STAND_INS _Pragma("GCC diagnostic ignored \"-Wunused-parameter\"")
// A type: several numbers at once
#define ATTR_LANES(bytes) __attribute__((vector_size(bytes)))
#define ATTR_INLINE       __attribute__((always_inline)) inline
#define LIKELY(x)         __builtin_expect(!!(x), 1)
#define UNLIKELY(x)       __builtin_expect(!!(x), 0)

// ---- questions that are one expression

/** Is it so for any, or for all, i below n? Once that is clear the others are not looked at. */
#define ANY(i, n, is_so)                    \
	({                                      \
		__typeof__((n) + 0) i = 0;          \
		for (; i < (n) && !(is_so); i++) {} \
		i < (n);                            \
	})
#define ALL(i, n, is_so) (!ANY(i, (n), !(is_so)))

/** The sum of a number over all i below n. */
#define SUM(i, n, number)                               \
	({                                                  \
		uint64_t sum_ = 0;                              \
		for (__typeof__((n) + 0) i = 0; i < (n); i++) { \
			sum_ += (number);                           \
		}                                               \
		sum_;                                           \
	})

/** The first of n items, which may be at NULL if there are none, for which it is so; else NULL. */
#define FIND(item, items, n, is_so)                       \
	({                                                    \
		__typeof__(&*(items)) item = (items);             \
		size_t left_ = (n);                               \
		for (; left_ > 0 && !(is_so); left_--, item++) {} \
		left_ > 0 ? item : NULL;                          \
	})
