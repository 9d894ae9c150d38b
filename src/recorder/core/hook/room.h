// SPDX-License-Identifier: MIT
#pragma once

/** Room in a thread's ring, for which a hook waits. It waits for nothing else. */

#include "recorder/core/thread.h"

/**
 * Make room for `n` entries. A thread that has filled its small ring once moves to the big one.
 * `level` is the number of hooks in progress outside this one. False: there is no room.
 */
bool room_make(struct thread_slot *slot, unsigned level, uint32_t n);
