// SPDX-License-Identifier: MIT
#include "collector/old_heap.h"

#include "injector/heap_walk.h"

#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/** The two columns that the engine wants. */
static void take_blocks(struct old_heap *o, const struct heap_walk *w) {
	o->ptrs = malloc((w->blocks.n + 1) * sizeof *o->ptrs);
	o->sizes = malloc((w->blocks.n + 1) * sizeof *o->sizes);
	o->n = o->ptrs && o->sizes ? w->blocks.n : 0;
	for (size_t i = 0; i < o->n; i++) {
		o->ptrs[i] = w->blocks.items[i].address;
		o->sizes[i] = w->blocks.items[i].bytes;
	}
}

static void *work(void *user) {
	struct old_heap *o = user;
	struct process_space space;
	struct heap_walk walk = {0};
	char path[64];
	(void)snprintf(path, sizeof path, "/proc/%d/mem", (int)o->snapshot);
	int memory = open(path, O_RDONLY | O_CLOEXEC);
	if (memory >= 0 && process_space_read(&space, o->snapshot, NULL)) {
		if (heap_walk(&walk, &space, memory)) {
			take_blocks(o, &walk);
		}
		process_space_finish(&space);
	}
	heap_walk_finish(&walk);
	if (memory >= 0) {
		(void)close(memory);
	}
	atomic_store_explicit(&o->is_done, true, memory_order_release);
	return NULL;
}

void old_heap_start(struct old_heap *o, pid_t snapshot, struct aggregate *a) {
	*o = (struct old_heap){.snapshot = snapshot};
	if (snapshot == 0) {
		return;
	}
	aggregate_expect_old_blocks(a);
	if (pthread_create(&o->worker, NULL, work, o) != 0) {
		(void)aggregate_old_blocks(a, NULL, NULL, 0, NULL);
		o->snapshot = 0; // it ends with the guardian
	}
}

void old_heap_step(struct old_heap *o, struct guardian *g, struct aggregate *a, bool waits) {
	if (o->snapshot == 0 || !(waits || atomic_load_explicit(&o->is_done, memory_order_acquire))) {
		return;
	}
	(void)pthread_join(o->worker, NULL);
	guardian_drop_snapshot(g);
	(void)aggregate_old_blocks(a, o->ptrs, o->sizes, o->n, NULL); // else they stay unknown
	free(o->ptrs);
	free(o->sizes);
	*o = (struct old_heap){0};
}
