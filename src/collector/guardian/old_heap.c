// SPDX-License-Identifier: MIT
/*
 * A thread walks the copy's heap (injector/heap_walk.h) into the two columns that the engine wants.
 */
#include "collector/guardian/old_heap.h"

#include "injector/heap_walk.h"
#include "sys/clock.h"

#include <stdatomic.h>
#include <stdio.h>

static void take_blocks(struct old_heap *o, const struct heap_walk *w) {
	o->ptrs = malloc((w->blocks.n + 1) * sizeof *o->ptrs);
	o->sizes = malloc((w->blocks.n + 1) * sizeof *o->sizes);
	o->n = o->ptrs && o->sizes ? w->blocks.n : 0;
	o->bytes = o->n > 0 ? w->bytes : 0;
	for (size_t i = 0; i < o->n; i++) {
		o->ptrs[i] = w->blocks.items[i].address;
		o->sizes[i] = w->blocks.items[i].bytes;
	}
}

static void *work(void *user) {
	struct old_heap *o = user;
	struct process_space space;
	struct heap_walk walk = {0};
	uint64_t start_ns = clock_now_ns();
	if (process_space_read(&space, o->snapshot, NULL)) {
		if (heap_walk(&walk, &space, o->snapshot)) {
			take_blocks(o, &walk);
		}
		process_space_finish(&space);
	}
	heap_walk_finish(&walk);
	o->walk_ns = clock_now_ns() - start_ns;
	atomic_store_explicit(&o->is_done, true, memory_order_release);
	return NULL;
}

void old_heap_start(struct old_heap *o, pid_t snapshot, struct aggregate *a) {
	*o = (struct old_heap){.snapshot = snapshot};
	if (snapshot == 0 || pthread_create(&o->worker, NULL, work, o) != 0) {
		aggregate_old_blocks(a, NULL, NULL, 0);
		o->snapshot = 0; // the copy ends with the guardian
	}
}

static void describe(const struct old_heap *o, char *line, size_t size) {
	(void)snprintf(line, size,
			"existing blocks: %zu, %.1f MB, found in %.1f ms while the program kept running", o->n,
			(double)o->bytes / 1e6, (double)o->walk_ns / 1e6);
}

bool old_heap_step(struct old_heap *o, struct guardian *g, struct aggregate *a, bool waits,
		char *line, size_t size) {
	line[0] = '\0';
	if (o->snapshot == 0 || !(waits || atomic_load_explicit(&o->is_done, memory_order_acquire))) {
		return false;
	}
	(void)pthread_join(o->worker, NULL);
	guardian_drop_snapshot(g);
	aggregate_old_blocks(a, o->ptrs, o->sizes, o->n);
	if (o->n > 0) {
		describe(o, line, size);
	}
	*o = (struct old_heap){0};
	return true;
}
