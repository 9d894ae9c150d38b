// SPDX-License-Identifier: MIT
#pragma once
/**
 * Growing arrays, one struct per element type:
 *
 *   VEC(struct edge) edges = {0};
 *   struct edge *e = vec_push(&edges);     // zeroed, or NULL if there is no memory
 *   bool ok = vec_add(&edges, (struct edge){1, 2});
 *
 * An unnamed VEC makes its struct a growing array. Pointers to items last until the next push.
 */

#include "base/err.h"

#include <stdint.h>

#define VEC(type)           \
	struct {                \
		type *items;        \
		size_t n, capacity; \
	}

#define vec_push(v) \
	(vec_reserve((v), 1) ? memset(&(v)->items[(v)->n++], 0, sizeof *(v)->items) : NULL)

/** Append a value. False: no memory; the value was not evaluated. */
#define vec_add(v, ...) \
	(vec_reserve((v), 1) && ((v)->items[(v)->n] = (__VA_ARGS__), (v)->n++, true))

/** Make room for `more` items. False: no memory; unchanged. */
#define vec_reserve(v, more) \
	vec_grow((void **)&(v)->items, &(v)->capacity, (v)->n, (more), sizeof *(v)->items)

/** Loop over the items of an array, or rows of a table, which must not grow meanwhile. */
#define EACH(item, v) EACH_OF(item, (v).items, (v).n)

/** The same for a plain array (NULL if empty). */
#define EACH_OF(item, array, count) EACH_OF_WHILE(item, array, count, true)

/** The same for items of which it is true. */
#define EACH_THAT(item, v, is_so) EACH_OF_THAT(item, (v).items, (v).n, is_so)
#define EACH_OF_THAT(item, array, count, is_so) \
	EACH_OF(item, array, count)                 \
	if (is_so)

/** The same up to the first item of which it is not true. */
#define EACH_WHILE(item, v, is_so) EACH_OF_WHILE(item, (v).items, (v).n, is_so)
#define EACH_OF_WHILE(item, array, count, is_so) \
	for (__typeof__(&*(array)) item = (array); item && item < (array) + (count) && (is_so); item++)

/** The first item with the largest number; NULL: all are 0. */
#define MOST(item, v, number) MOST_OF(item, (v).items, (v).n, number)
#define MOST_OF(item, array, count, number)    \
	({                                         \
		__typeof__(&*(array)) most_ = NULL;    \
		uint64_t most_number_ = 0;             \
		EACH_OF(item, array, count) {          \
			const uint64_t number_ = (number); \
			if (number_ > most_number_) {      \
				most_ = item;                  \
				most_number_ = number_;        \
			}                                  \
		}                                      \
		most_;                                 \
	})

/** The first item of which it is true, or NULL. */
#define FIND_IN(item, v, is_so) FIND(item, (v).items, (v).n, is_so)

/** Drop items from `first` on of which it is not true; the others keep their order. */
#define vec_keep(v, first, item, is_so)                      \
	do {                                                     \
		size_t kept_ = (first);                              \
		for (size_t i_ = kept_; i_ < (v)->n; i_++) {         \
			__typeof__(&*(v)->items) item = &(v)->items[i_]; \
			if (is_so) {                                     \
				(v)->items[kept_++] = *item;                 \
			}                                                \
		}                                                    \
		(v)->n = kept_;                                      \
	} while (0)

/** qsort must not get NULL even for no items. */
#define vec_sort(v, compare) \
	((v)->n > 1 ? qsort((v)->items, (v)->n, sizeof *(v)->items, (compare)) : (void)0)

#define vec_finish(v) (free((v)->items), (v)->items = NULL, (v)->n = 0, (v)->capacity = 0)

#include <string.h>

/** For SCOPED_BY of any VEC. */
static inline void vec_release(void *vec) {
	VEC(void) *v = vec;
	free(v->items);
}

static inline bool vec_grow(void **items, size_t *capacity, size_t n, size_t more,
		size_t item_bytes) {
	size_t need, bytes;
	bool is_too_much = __builtin_add_overflow(n, more, &need);
	if (!is_too_much && need <= *capacity) {
		return true;
	}
	size_t want = *capacity < 8 ? 16 : *capacity * 2;
	RAISE_TO(want, need);
	is_too_much |= __builtin_mul_overflow(want, item_bytes, &bytes);
	void *grown = is_too_much ? NULL : realloc(*items, bytes);
	if (!grown) {
		return memory_lacks() != NULL;
	}
	*items = grown;
	*capacity = want;
	return true;
}

// ---- sorting and searching by a number, in arrays of numbers or of structs that begin with one

/** As strcmp, for numbers. */
static inline int compare_u64(uint64_t x, uint64_t y) {
	return (x > y) - (x < y);
}

/**
 * Define a comparison of *a and *b for qsort, or qsort_r with `user`:
 *
 *   ORDER_OF(by_age, struct person, HIGHEST(age) ?: strcmp(a->name, b->name));
 */
#define ORDER_OF(name, type, order) ORDER_WITH(name, type, order, )
#define ORDER_BY(name, type, order) ORDER_WITH(name, type, order, , void *user)
#define LOWEST(field)               compare_u64(a->field, b->field)
#define HIGHEST(field)              compare_u64(b->field, a->field)
#define ORDER_WITH(name, type, order, ...)                            \
	static int name(const void *at_a, const void *at_b __VA_ARGS__) { \
		const typeof(type) *a = at_a, *b = at_b;                      \
		return order;                                                 \
	}                                                                 \
	_Static_assert(true, "")

/** Sorts things by weight without moving them, as they may be large. */
struct rank {
	uint64_t weight;
	uint32_t index; // of the ranked thing
};

/** For qsort: heaviest first, of equal ones the lowest index. */
static inline int rank_heaviest_first(const void *a, const void *b) {
	const struct rank *x = a, *y = b;
	return compare_u64(y->weight, x->weight) ?: compare_u64(x->index, y->index);
}

/** For qsort: by number, ascending. */
static inline int by_number(const void *a, const void *b) {
	return compare_u64(*(const uint64_t *)a, *(const uint64_t *)b);
}

/**
 * The index of the first of `n` items whose number, at `keys` and every `stride` bytes after, is at
 * least `least`; `n`: none is. Numbers are sorted.
 */
static inline size_t sorted_first_of(const void *keys, size_t n, size_t stride, uint64_t least) {
	size_t low = 0, high = n;
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (*(const uint64_t *)(const void *)((const char *)keys + middle * stride) < least) {
			low = middle + 1;
		} else {
			high = middle;
		}
	}
	return low;
}

/** The same for plain numbers. */
static inline size_t sorted_first(const uint64_t *items, size_t n, uint64_t least) {
	return sorted_first_of(items, n, sizeof *items, least);
}

// ---- sorting many items by a number: from 100,000 on ten times as fast as qsort

struct radix_item {
	uint64_t key;
	uint64_t value; // the caller's: usually an index
};

/**
 * Stable sort by ascending key (Knuth, The Art of Computer Programming, vol. 3, 5.2.5, algorithm
 * R). `scratch`: room for n items. Time: n for each byte in which keys differ.
 */
void radix_sort(struct radix_item *items, struct radix_item *scratch, size_t n);

/**
 * Sort the numbers i below n by group (below n_groups): those of group g become order[starts[g]] to
 * order[starts[g + 1] - 1], ascending. `starts`: n_groups + 2 zeros.
 */
#define GROUP_BY(order, starts, n_groups, i, n, group) \
	do {                                               \
		for (uint32_t i = 0; i < (n); i++) {           \
			(starts)[(group) + 2]++;                   \
		}                                              \
		for (uint32_t g_ = 0; g_ < (n_groups); g_++) { \
			(starts)[g_ + 2] += (starts)[g_ + 1];      \
		}                                              \
		for (uint32_t i = 0; i < (n); i++) {           \
			(order)[(starts)[(group) + 1]++] = i;      \
		}                                              \
	} while (0)
