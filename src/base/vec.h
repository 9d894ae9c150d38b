// SPDX-License-Identifier: MIT
#pragma once
/**
 * Growing arrays, with one struct per element type:
 *
 *   VEC(struct edge) edges = {0};
 *   struct edge *e = vec_push(&edges);     // zeroed, or NULL if there is no memory
 *   bool ok = vec_add(&edges, (struct edge){1, 2});
 *
 * A VEC without a name in a struct makes that one a growing array. Pointers into items are valid
 * until the next push.
 */

#include "base/attr.h"

#include <stddef.h>

#define VEC(type)           \
	struct {                \
		type *items;        \
		size_t n, capacity; \
	}

#define vec_push(v) \
	(vec_reserve((v), 1) ? memset(&(v)->items[(v)->n++], 0, sizeof *(v)->items) : NULL)

/** Append a value. False: no memory, and it was not looked at. */
#define vec_add(v, ...) \
	(vec_reserve((v), 1) && ((v)->items[(v)->n] = (__VA_ARGS__), (v)->n++, true))

/** Room for `more` further items: true, or false and the array is as it was. */
#define vec_reserve(v, more) \
	vec_grow((void **)&(v)->items, &(v)->capacity, (v)->n, (more), sizeof *(v)->items)

/** Each item of an array, or row of a recording's table, which does not grow meanwhile. */
#define EACH(item, v) \
	for (const __typeof__(*(v).items) *item = (v).items; item && item < (v).items + (v).n; item++)

/** The first item for which it is so; NULL: there is none. */
#define FIND_IN(item, v, is_so) FIND(item, (v).items, (v).n, is_so)

#define vec_finish(v) (free((v)->items), (v)->items = NULL, (v)->n = 0, (v)->capacity = 0)

#include <string.h>

/** For SCOPED_BY: of any VEC. */
static inline void vec_release(void *vec) {
	VEC(void) *v = vec;
	free(v->items);
}

static inline bool vec_grow(void **items, size_t *capacity, size_t n, size_t more,
		size_t item_bytes) {
	size_t need;
	if (__builtin_add_overflow(n, more, &need)) {
		return false;
	}
	if (need <= *capacity) {
		return true;
	}
	size_t want = *capacity < 8 ? 16 : *capacity * 2;
	if (want < need) {
		want = need;
	}
	size_t bytes;
	if (__builtin_mul_overflow(want, item_bytes, &bytes)) {
		return false;
	}
	void *grown = realloc(*items, bytes);
	if (!grown) {
		return false;
	}
	*items = grown;
	*capacity = want;
	return true;
}
