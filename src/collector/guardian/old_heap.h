// SPDX-License-Identifier: MIT
#pragma once

/**
 * Finds the blocks that existed before the attach, in a copy of the program's memory.
 *
 * A thread does that while events are already recorded. It has normal priority: ending the
 * recording waits for it, and as long as the copy exists, the program pays for each page that it
 * writes to.
 */

#include "collector/guardian/guardian.h"
#include "engine/aggregate.h"

#include <pthread.h>

struct old_heap {
	pid_t snapshot; // 0: nothing is looked for
	pthread_t worker;
	_Atomic bool is_done; // release: pairs with the acquire of the step
	uint64_t *ptrs, *sizes;
	size_t n;
	uint64_t bytes, walk_ns; // of the blocks; what finding them took
};

/** The aggregate expects them since before the first event. `snapshot` 0: nothing will come. */
void old_heap_start(struct old_heap *o, pid_t snapshot, struct aggregate *a);

/**
 * When the search is done, pass on its result and release the copy. `waits`: wait for it. True: it
 * ended now, and `line`, of `size` bytes, is the message for the user, or empty: nothing was found.
 */
bool old_heap_step(struct old_heap *o, struct guardian *g, struct aggregate *a, bool waits,
		char *line, size_t size);
