// SPDX-License-Identifier: MIT
#pragma once

/**
 * Which blocks lie in which of the program's pools, so that the end of a pool is the end of its
 * blocks. Pools and blocks are known by address; a pool that was not begun is begun by its first
 * block. Any thread, any signal handler, no locks; calls for one pool's end must not overlap with
 * others for the same pool, as in any allocator.
 *
 * A table of 4 million places that costs memory only where it is used: a place serves one address of
 * one pool until the pool ends, however often the address is handed out.
 */

#include <stdbool.h>
#include <stdint.h>

/** The pool exists. False: there is no room for it. */
bool pools_begin(uint64_t pool);

/** A block of the pool exists. False: there is no room: the pool's end will not end it. */
bool pools_add(uint64_t pool, uint64_t block);

/** The block is gone. False: it is none of the pool's. */
bool pools_remove(uint64_t pool, uint64_t block);

/** The pool is gone, and each block that it still has goes to `each`. */
void pools_end(uint64_t pool, void (*each)(void *user, uint64_t block), void *user);
