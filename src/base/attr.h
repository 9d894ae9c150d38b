// SPDX-License-Identifier: MIT
#pragma once
/** Compiler extensions under names of our own. Only the recorder may also use them directly. */

#include <stdbool.h>
#include <stdlib.h>

#define ATTR_PRINTF(fmt, args) __attribute__((format(printf, fmt, args)))
#define ATTR_NODISCARD         __attribute__((warn_unused_result))
#define ATTR_NORETURN          __attribute__((noreturn))
#define ATTR_COLD              __attribute__((cold))
#define ATTR_NOINLINE          __attribute__((noinline))
// At the top of files whose functions are placeholders that ignore their parameters
#define ATTR_STAND_INS _Pragma("GCC diagnostic ignored \"-Wunused-parameter\"")
#define ATTR_INLINE    __attribute__((always_inline)) inline
#define LIKELY(x)      __builtin_expect(!!(x), 1)
#define UNLIKELY(x)    __builtin_expect(!!(x), 0)

// ---- cleanup at the end of a block, however it is left

/** SCOPED(buffer) text = {0}; calls buffer_finish(&text); SCOPED_BY names another function. */
#define SCOPED(type)      SCOPED_BY(type##_finish) struct type
#define SCOPED_BY(finish) __attribute__((cleanup(finish), unused))

/** A pointer to be freed, or NULL. */
#define FREED SCOPED_BY(free_at)
static inline void free_at(void *pointer) {
	free(*(void **)pointer);
}

#define N_OF(array) (sizeof(array) / sizeof *(array))

// ---- queries as expressions

/** Is it true of any, or all, i below n? Stops as soon as that is known. */
#define ANY(i, n, is_so)                    \
	({                                      \
		__typeof__((n) + 0) i = 0;          \
		for (; i < (n) && !(is_so); i++) {} \
		i < (n);                            \
	})
#define ALL(i, n, is_so) (!ANY(i, (n), !(is_so)))

/** Loop over each i below n of which it is true. */
#define EACH_NUMBER(i, n, is_so)                  \
	for (__typeof__((n) + 0) i = 0; i < (n); i++) \
		if (is_so)

/** The same for an iterator: evaluates `next` until it is false or the answer is known. */
#define SOME(next, is_so)        \
	({                           \
		bool so_ = false;        \
		while (!so_ && (next)) { \
			so_ = (is_so);       \
		}                        \
		so_;                     \
	})
#define EVERY(next, is_so) (!SOME((next), !(is_so)))

#define RAISE_TO(x, least) ((x) = (x) < (least) ? (least) : (x))
#define LOWER_TO(x, most)  ((x) = (x) > (most) ? (most) : (x))

#define SUM(i, n, number)                               \
	({                                                  \
		uint64_t sum_ = 0;                              \
		for (__typeof__((n) + 0) i = 0; i < (n); i++) { \
			sum_ += (number);                           \
		}                                               \
		sum_;                                           \
	})

/** The largest number of all i below n, or 0. */
#define LARGEST(i, n, number)                           \
	({                                                  \
		uint64_t most_ = 0;                             \
		for (__typeof__((n) + 0) i = 0; i < (n); i++) { \
			const uint64_t number_ = (number);          \
			RAISE_TO(most_, number_);                   \
		}                                               \
		most_;                                          \
	})

/** The first of n items (NULL if n is 0) of which it is true, or NULL. */
#define FIND(item, items, n, is_so)                       \
	({                                                    \
		__typeof__(&*(items)) item = (items);             \
		size_t left_ = (n);                               \
		for (; left_ > 0 && !(is_so); left_--, item++) {} \
		left_ > 0 ? item : NULL;                          \
	})

// ---- operations on up to ten fields of two structs, given by pointers

#define FOR_1(f, x, y, a)                                   f(x, y, a)
#define FOR_2(f, x, y, a, ...)                              f(x, y, a), FOR_1(f, x, y, __VA_ARGS__)
#define FOR_3(f, x, y, a, ...)                              f(x, y, a), FOR_2(f, x, y, __VA_ARGS__)
#define FOR_4(f, x, y, a, ...)                              f(x, y, a), FOR_3(f, x, y, __VA_ARGS__)
#define FOR_5(f, x, y, a, ...)                              f(x, y, a), FOR_4(f, x, y, __VA_ARGS__)
#define FOR_6(f, x, y, a, ...)                              f(x, y, a), FOR_5(f, x, y, __VA_ARGS__)
#define FOR_7(f, x, y, a, ...)                              f(x, y, a), FOR_6(f, x, y, __VA_ARGS__)
#define FOR_8(f, x, y, a, ...)                              f(x, y, a), FOR_7(f, x, y, __VA_ARGS__)
#define FOR_9(f, x, y, a, ...)                              f(x, y, a), FOR_8(f, x, y, __VA_ARGS__)
#define FOR_10(f, x, y, a, ...)                             f(x, y, a), FOR_9(f, x, y, __VA_ARGS__)
#define FOR_WHICH(a, b, c, d, e, f, g, h, i, j, which, ...) which
#define FOR_LIST(f, x, y, ...)                                                             \
	FOR_WHICH(__VA_ARGS__, FOR_10, FOR_9, FOR_8, FOR_7, FOR_6, FOR_5, FOR_4, FOR_3, FOR_2, \
			FOR_1, )                                                                       \
	(f, x, y, __VA_ARGS__)
#define FOR_FIELDS(f, x, y, ...) (FOR_LIST(f, x, y, __VA_ARGS__))

#define ADD_FIELD(to, from, field)  (to)->field += (from)->field
#define COPY_FIELD(to, from, field) (to)->field = (from)->field
#define ADD_FIELDS(to, from, ...)   FOR_FIELDS(ADD_FIELD, to, from, __VA_ARGS__)
#define COPY_FIELDS(to, from, ...)  FOR_FIELDS(COPY_FIELD, to, from, __VA_ARGS__)

/** In an initializer: copies of another struct's fields. */
#define FIELD_OF(of, _, field) .field = (of)->field
#define FIELDS_OF(of, ...)     FOR_LIST(FIELD_OF, of, _, __VA_ARGS__)

/** Call a function for several fields: CALL_FOR(vec_finish, maker, frames, nodes). */
#define CALL_FIELD(call, of, field) call(&(of)->field)
#define CALL_FOR(call, of, ...)     FOR_FIELDS(CALL_FIELD, call, of, __VA_ARGS__)
