// SPDX-License-Identifier: MIT
#pragma once

/** Free addresses near a module. */

#include "injector/space.h"

/**
 * A place of `bytes`, a multiple of the page, such that a jump reaches it from all of [low, high).
 * Not where the heap or a stack would grow into. 0: there is none.
 */
uint64_t gap_near(const struct process_space *s, uint64_t low, uint64_t high, uint64_t bytes);
