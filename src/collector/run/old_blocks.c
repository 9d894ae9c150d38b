// SPDX-License-Identifier: MIT
/*
 * The blocks from before the attach, found in a copy of the program's memory. A thread walks the
 * copy's heap (injector/space.h) while events are already recorded. It has normal priority: the end
 * waits for it, and while the copy exists, the program pays for each page it writes to.
 */
#include "collector/run/parts.h"

static void *work(void *user) {
	struct old_heap *o = user;
	uint64_t start_ns = clock_now_ns();
	if (!heap_walk(&o->walk, o->snapshot)) {
		heap_walk_finish(&o->walk);
	}
	o->walk_ns = clock_now_ns() - start_ns;
	atomic_store_explicit(&o->is_done, true, memory_order_release);
	return NULL;
}

/** The stack of blocks called `name`, at a place that no code has. */
static uint32_t find_stack(struct run *run, uint64_t place, uint32_t above, const char *name) {
	const uint64_t known = map_get(&run->old_stacks, place);
	if (known) {
		return (uint32_t)known - 1;
	}
	const uint32_t node = tries_add(&run->tries, above, place);
	const uint32_t stack = aggregate_stack(run_aggregate(run), node);
	struct rec_location *location = &run->tries.locations[run->tries.nodes[node].location];
	location->is_mark = true;
	namer_put(run->names, location,
			(struct rec_frame){.function = namer_text(run->names, slice_of_text(name))});
	(void)map_put(&run->old_stacks, place, stack + 1ul);
	return stack;
}

uint32_t run_old_stack(struct run *run, uint64_t bytes, bool is_range) {
	enum { ANY_SIZE = 2, EXACT = ANY_SIZE + 65 }; // program counters; those of ranges are between
	const uint32_t bits = GRAPH_BITS_OF(bytes);
	const uint64_t least = 1ull << (bits - 1);
	const char *name = is_range
			? FORMAT(96, "older blocks of %s to %s", HUMAN_BYTES(least), HUMAN_BYTES(2 * least - 1))
			: FORMAT(96, "older blocks with room for %" PRIu64 " bytes", bytes);
	const uint32_t any = find_stack(run, ANY_SIZE, 0, "allocated before the attach");
	return bytes == 0 ? any
					  : find_stack(run, is_range ? ANY_SIZE + bits : EXACT + bytes,
								aggregate_node(run_aggregate(run), any), name);
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
