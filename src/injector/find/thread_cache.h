// SPDX-License-Identifier: MIT
#pragma once

/**
 * Which code of glibc frees a thread's cached blocks when the thread ends.
 *
 * glibc keeps blocks that a thread has freed in a list of that thread (tcache). When the thread
 * ends it frees them once more, and the list itself. The program freed the ones long ago and has
 * never seen the other, so the recorder leaves out frees that come from there.
 */

#include "injector/space.h"
#include "wire/resident.h"

/** The code of glibc that ends a thread's list, in each C library; 0 bytes: none was found. */
void thread_cache_find(const struct modules_code *modules,
		struct resident_range caches[RESIDENT_THREAD_CACHES]);
