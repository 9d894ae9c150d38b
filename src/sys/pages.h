// SPDX-License-Identifier: MIT
#pragma once
/**
 * Large tables in their own pages: zeroed, allocated by the system only when touched, and grown
 * without a copy. A table can therefore be reserved much larger than its contents.
 */

#include <stdbool.h>
#include <stddef.h>

/** NULL: out of memory. */
void *pages_take(size_t bytes);

/** Zero some of them again, without touching pages that were never touched. */
void pages_clear(void *from, size_t bytes);

/** `pages` may be NULL. */
void pages_give(void *pages, size_t bytes);

/**
 * Room for `need` items in a table that doubles, like vec_reserve. False: out of memory, the table
 * is as it was. *items starts as NULL, *capacity as 0.
 */
bool pages_reserve(void **items, size_t *capacity, size_t need, size_t item_bytes);
