// SPDX-License-Identifier: MIT
#pragma once
/**
 * A parallel loop over the cores that this process may use; joined before the call returns. Parts
 * must not write what others read or write, so that the result is the same when they run one after
 * another, as on a single core or if no thread can be created.
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

/** The number of parts for an amount of work: one per core, but each at least `least`. */
unsigned parallel_parts(uint64_t work, uint64_t least);

/** Call work(user, part) for each part < n_parts <= PARALLEL_MOST, one of them in this thread. */
void parallel_run(unsigned n_parts, void (*work)(void *user, unsigned part), void *user);

/** The beginning of a part; of part n_parts, the end. */
static inline uint64_t parallel_begin(uint64_t work, unsigned n_parts, unsigned part) {
	return work / n_parts * part + work % n_parts * part / n_parts;
}
