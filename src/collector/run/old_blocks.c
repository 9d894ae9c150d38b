// SPDX-License-Identifier: MIT
/*
 * The blocks that existed before the attach, found in a copy of the program's memory.
 *
 * A thread walks the copy's heap (injector/space.h) while events are already recorded. It has
 * normal priority: ending the recording waits for it, and as long as the copy exists, the program
 * pays for each page that it writes to.
 */
#include "collector/run/parts.h"
#include "engine/findings.h"
#include "sys/clock.h"

static void *work(void *user) {
	struct old_heap *o = user;
	SCOPED(process_space) space = {0};
	uint64_t start_ns = clock_now_ns();
	if (!process_space_read(&space, o->snapshot, NULL) ||
			!heap_walk(&o->walk, &space, o->snapshot)) {
		heap_walk_finish(&o->walk);
	}
	o->walk_ns = clock_now_ns() - start_ns;
	atomic_store_explicit(&o->is_done, true, memory_order_release);
	return NULL;
}

void run_expect_old_blocks(struct run *run, pid_t snapshot) {
	struct old_heap *o = &run->old_heap;
	*o = (struct old_heap){.snapshot = snapshot};
	if (snapshot == 0 || pthread_create(&o->worker, NULL, work, o) != 0) {
		aggregate_old_blocks(run_aggregate(run), NULL, 0);
		o->snapshot = 0; // the copy ends with the guardian
	}
}

void run_take_old_blocks(struct run *run, bool waits) {
	struct old_heap *o = &run->old_heap;
	char line[QUALITY_OLD_MAX];
	if (o->snapshot == 0 || !(waits || atomic_load_explicit(&o->is_done, memory_order_acquire))) {
		return;
	}
	(void)pthread_join(o->worker, NULL);
	guardian_release(&run->guardian);
	aggregate_old_blocks(run_aggregate(run), o->walk.blocks.items, o->walk.blocks.n);
	if (o->walk.blocks.n > 0) {
		run_say(run,
				"existing blocks: %zu, %.1f MB, found in %.1f ms while the program kept running",
				o->walk.blocks.n, (double)o->walk.bytes / 1e6, (double)o->walk_ns / 1e6);
	} else { // glibc's heap has at least its own blocks
		run->meta.old_unknown = REC_OLD_NOT_FOUND;
		run_say(run, "%s", quality_why_old(&run->meta, line));
	}
	*o = (struct old_heap){0};
}
