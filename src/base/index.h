// SPDX-License-Identifier: MIT
#pragma once
/**
 * A hash index over items stored elsewhere: hash -> index of the item. The caller stores and
 * compares the keys; a slot has 32 bits of the hash beside the index, so that nearly all
 * comparisons are with the right item. Open addressing, linear probing; grows only with its load,
 * never with the length of a probe.
 *
 *   uint32_t id = INDEX_FIND(&ix, hash, i, things[i].key == key);
 *   if (id == INDEX_NONE && !index_add(&ix, hash, n_things)) { no memory }
 *
 * Not for keys that an attacker can choose freely: callers limit what they add.
 */

#include "base/arena.h"
#include "base/vec.h"

enum { INDEX_NONE = UINT32_MAX };

struct index {
	uint64_t *slots; // 0: empty; else hash << 32 | item + 1
	uint32_t mask, n;
};

/** Every bit of the key affects every bit of the hash: sequential keys and strides are safe. */
static inline uint64_t hash_u64(uint64_t key) {
	key *= 0x9e3779b97f4a7c15;
	key ^= key >> 32;
	key *= 0xd6e8feb86659fd93;
	return key ^ key >> 32;
}

static inline uint32_t hash_pair(uint32_t a, uint32_t b) {
	uint64_t h = ((uint64_t)a << 32 | b) * 0x9e3779b97f4a7c15ull;
	return (uint32_t)(h >> 32) ^ (uint32_t)h >> 7;
}

static inline uint32_t index_first(const struct index *ix, uint64_t hash) {
	return (uint32_t)hash & ix->mask;
}

/** The next item with the same hash bits, or INDEX_NONE. `at` is the position. */
static inline uint32_t index_next(const struct index *ix, uint64_t hash, uint32_t *at) {
	if (!ix->slots) {
		return INDEX_NONE;
	}
	for (;;) {
		uint64_t slot = ix->slots[*at];
		if (slot == 0) {
			return INDEX_NONE;
		}
		*at = (*at + 1) & ix->mask;
		if (slot >> 32 == (uint32_t)hash) {
			return (uint32_t)slot - 1;
		}
	}
}

/** The first item `i` with this hash for which `is_it` is true, or INDEX_NONE. */
#define INDEX_FIND(index, hash, i, is_it)                                            \
	({                                                                               \
		uint32_t at_ = index_first((index), (hash)), i;                              \
		while ((i = index_next((index), (hash), &at_)) != INDEX_NONE && !(is_it)) {} \
		i;                                                                           \
	})

/** Add an item that is not in the index. Requires index_reserve. */
static inline void index_put(struct index *ix, uint64_t hash, uint32_t number) {
	uint32_t at = index_first(ix, hash);
	while (ix->slots[at]) {
		at = (at + 1) & ix->mask;
	}
	ix->slots[at] = hash << 32 | (number + 1);
	ix->n++;
}

/** Make room for `more` items at a load of at most 1/2. False: no memory; unchanged. */
static inline bool index_reserve(struct index *ix, uint32_t more) {
	uint64_t size = ix->slots ? (uint64_t)ix->mask + 1 : 0;
	uint64_t need = ((uint64_t)ix->n + more) * 2;
	if (LIKELY(need <= size)) {
		return true;
	}
	size = size ? size : 64;
	while (size < need) {
		size *= 2;
	}
	struct index grown = {.mask = (uint32_t)(size - 1)};
	if (size > (uint64_t)1 << 32 || !(grown.slots = calloc(size, sizeof *grown.slots))) {
		return memory_lacks() != NULL;
	}
	large_pages_prefer(grown.slots, size * sizeof *grown.slots);
	for (uint64_t i = 0; ix->slots && i <= ix->mask; i++) {
		if (ix->slots[i]) {
			index_put(&grown, ix->slots[i] >> 32, (uint32_t)ix->slots[i] - 1);
		}
	}
	free(ix->slots);
	*ix = grown;
	return true;
}

/** Reserve and put. False: no memory; unchanged. */
static inline bool index_add(struct index *ix, uint64_t hash, uint32_t number) {
	if (!index_reserve(ix, 1)) {
		return false;
	}
	index_put(ix, hash, number);
	return true;
}

/** The found item, or `next`, which is added. INDEX_NONE: no memory. */
#define INDEX_FIND_OR_ADD(index, hash, i, is_it, next)                    \
	({                                                                    \
		uint32_t found_ = INDEX_FIND(index, hash, i, is_it);              \
		if (found_ == INDEX_NONE && index_add((index), (hash), (next))) { \
			found_ = (next);                                              \
		}                                                                 \
		found_;                                                           \
	})

/** The same for items with room for one more, which is appended. */
#define INDEX_FIND_OR_PUT(index, hash, i, is_it, items, n, ...)                     \
	({                                                                              \
		uint32_t id_ = INDEX_FIND_OR_ADD((index), (hash), i, is_it, (uint32_t)(n)); \
		if (id_ == (n)) {                                                           \
			(items)[(n)++] = (__VA_ARGS__);                                         \
		}                                                                           \
		id_;                                                                        \
	})

/** The same for a VEC. INDEX_NONE: no memory. */
#define VEC_FIND_OR_ADD(index, v, hash, item, is_it, ...)                                    \
	(!vec_reserve((v), 1) ? INDEX_NONE                                                       \
						  : INDEX_FIND_OR_PUT((index), (hash), i_, ({                        \
								const __typeof__(*(v)->items) *const item = &(v)->items[i_]; \
								is_it;                                                       \
							}),                                                              \
									(v)->items, (v)->n, __VA_ARGS__))

static inline void index_finish(struct index *ix) {
	free(ix->slots);
	*ix = (struct index){0};
}

static inline uint64_t index_bytes(const struct index *ix) {
	return ix->slots ? ((uint64_t)ix->mask + 1) * sizeof *ix->slots : 0;
}

// ---- a hash map from u64 to u64
//
// Open addressing with linear probing; grows by load alone (at most half full), so that no order of
// keys can make it larger than its contents. Zeroed: empty. Key 0 is valid.

struct map_entry {
	uint64_t key;
	uint64_t value; // 0: free
};

struct map {
	struct map_entry *entries;
	size_t n, capacity; // capacity: 0 or a power of two
};

/** The value, or 0. */
uint64_t map_get(const struct map *m, uint64_t key);

/** Set or replace; `value` must not be 0. False: no memory; unchanged. */
bool map_put(struct map *m, uint64_t key, uint64_t value);

/** Make room for `more` keys. False: no memory; unchanged. */
bool map_reserve(struct map *m, size_t more);

/** As map_put, with room reserved. Returns the old value, or 0. */
uint64_t map_set(struct map *m, uint64_t key, uint64_t value);

/** Remove a key. Returns its value, or 0. */
uint64_t map_take(struct map *m, uint64_t key);

/** Prefetch a key's slot. */
void map_fetch(const struct map *m, uint64_t key);

void map_clear(struct map *m);
void map_finish(struct map *m);

// ---- texts stored once and identified by a number
//
// Id 0 is the empty text. Texts never move; `items` only grows (and may move as an array). Zeroed:
// empty. Single-threaded.

struct texts {
	VEC(struct slice);
	struct arena arena; // of the copies
	struct index ids;
	bool borrows; // set by the owner: texts outlive the struct and are not copied
};

/** The id of a text, new if needed; 0 for an empty one. */
uint32_t texts_id(struct texts *s, struct slice text);
uint32_t texts_id_of(struct texts *s, const char *text); // NULL: 0

void texts_finish(struct texts *s);
