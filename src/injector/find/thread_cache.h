// SPDX-License-Identifier: MIT
#pragma once

/**
 * glibc keeps blocks that a thread has freed in a list of that thread (tcache). When the thread ends it
 * hands them to free once more, and its list too: the program freed the ones long ago, and has never seen
 * the other. Such calls are told by where they come from.
 */

#include "injector/space.h"
#include "wire/resident.h"

/** The code of glibc that ends a thread's list, in each C library; 0 bytes: none was found. */
void thread_cache_find(const struct modules_code *modules,
		struct resident_range caches[RESIDENT_THREAD_CACHES]);
