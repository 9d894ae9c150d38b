// SPDX-License-Identifier: MIT
#pragma once
/**
 * A hash map from numbers to numbers, u64 to u64.
 *
 * Open addressing with linear probing; grows by load alone (at most half full), so no order of keys
 * can make it larger than its contents. A zeroed struct is empty. Key 0 is fine.
 */

#include "base/attr.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct map_entry {
	uint64_t key;
	uint64_t value; // 0: free
};

struct map {
	struct map_entry *entries;
	size_t n, capacity; // capacity: 0 or a power of two
};

/** The value (never 0), or 0. */
uint64_t map_get(const struct map *m, uint64_t key);

/** Set or replace; `value` is not 0. False: out of memory, unchanged. */
bool map_put(struct map *m, uint64_t key, uint64_t value) ATTR_NODISCARD;

/** Room for `more` further keys. False: out of memory, unchanged. */
bool map_reserve(struct map *m, size_t more) ATTR_NODISCARD;

/** The same as map_put once there is room; returns what was there, or 0. */
uint64_t map_set(struct map *m, uint64_t key, uint64_t value);

/** Remove; returns what was there, or 0. */
uint64_t map_take(struct map *m, uint64_t key);

/** The key will soon be asked for: its place is on its way to the cache. */
void map_fetch(const struct map *m, uint64_t key);

void map_clear(struct map *m);
void map_finish(struct map *m);
