// SPDX-License-Identifier: MIT
#pragma once
/**
 * Which blocks lie in which of the program's pools, and therefore end with them. Pools and blocks
 * are known by address; a pool begins with its first block. Any thread, any signal handler, no
 * locks. As in any allocator, a pool must not be ended while in use. The table has 4 million
 * places, which take memory only when used: one per address of a pool, until the pool ends, however
 * often the address is allocated.
 */

#include <stdbool.h>
#include <stdint.h>

/** A block of the pool exists. False: no room; it will not end with the pool. */
bool pools_add(uint64_t pool, uint64_t block);

/** The block is gone. False: it is not the pool's. */
bool pools_remove(uint64_t pool, uint64_t block);

/** The pool is gone; `each` receives the blocks that it still has. */
void pools_end(uint64_t pool, void (*each)(void *user, uint64_t block), void *user);
