// SPDX-License-Identifier: MIT
#pragma once

/**
 * The blocks that a program had before it was attached to, found in a copy of its memory by a thread
 * while events come already. Not one of low priority: whoever ends the recording waits for it, and the
 * program pays for each page that it writes to while there is a copy.
 */

#include "collector/guardian.h"
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
 * When it is done, hand it over and let the copy go. `waits`: until it is. `*line`, of `size` bytes: what
 * the user is to be told then; else it is empty.
 */
void old_heap_step(struct old_heap *o, struct guardian *g, struct aggregate *a, bool waits,
		char *line, size_t size);
