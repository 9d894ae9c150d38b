// SPDX-License-Identifier: MIT
#pragma once
/**
 * A parallel loop over the cores that this process may use, joined before the call returns. Parts
 * write only what no other part reads or writes, so the result is the same as if they ran one after
 * the other, which is what happens on a single core or if no thread can be created.
 */

#include "base/attr.h"

#include <pthread.h>
#include <stdint.h>

/** Hold a mutex until the block ends. */
#define LOCKED(mutex)    \
	SCOPED_BY(unlock_at) \
	pthread_mutex_t *const locked_ = (pthread_mutex_lock(mutex), (mutex))
static inline void unlock_at(pthread_mutex_t *const *mutex) {
	(void)pthread_mutex_unlock(*mutex);
}

enum { PARALLEL_MOST = 8 };

/** Cores that this process may use. */
unsigned parallel_cores(void);

/** The number of parts for an amount of work: one per core, but none smaller than `least`. */
unsigned parallel_parts(uint64_t work, uint64_t least);

/**
 * work(user, part) for each part < n_parts <= PARALLEL_MOST; the caller's thread does one of them.
 */
void parallel_run(unsigned n_parts, void (*work)(void *user, unsigned part), void *user);

/** Where a part begins: part n_parts begins at the end. */
static inline uint64_t parallel_begin(uint64_t work, unsigned n_parts, unsigned part) {
	return work / n_parts * part + work % n_parts * part / n_parts;
}
