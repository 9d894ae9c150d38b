// SPDX-License-Identifier: MIT
/*
 * The functions of heaptrack_api.h, and the others of KDE's recorder, for programs built with it.
 */
#include "recorder/core/awaiting.h"
#include "recorder/core/hook/hook.h"
#include "recorder/preload/collector.h"
#include "recorder/preload/pools.h"

#include <stdio.h>

// heaptrack_api.h declares them as a program sees them, looked up when first called
#pragma GCC diagnostic ignored "-Wmissing-prototypes"

// ---- allocators of the program's own: a block exists, has moved, is gone

/**
 * Such blocks often lie in those of another recorded allocator, and the first block of a chunk may
 * have the chunk's own address. A bit that no address has distinguishes the two.
 */
static inline void *nested(const void *ptr) {
	return (void *)((uintptr_t)ptr ^ (uintptr_t)1 << MACHINE_SPARE_BIT);
}

INLINE void report_malloc(struct capture_regs caller, void *ptr, size_t size) {
	struct hook h;
	if (ptr != NULL && hook_enter(&h, caller, true)) {
		hook_allocated(&h, nested(ptr), size);
		hook_leave(&h);
	}
}

INLINE void report_free(struct capture_regs caller, void *ptr) {
	struct hook h;
	if (ptr != NULL && hook_enter(&h, caller, hook_wants_free_stacks())) {
		hook_free(&h, nested(ptr));
		hook_leave(&h);
	}
}

INLINE void report_realloc(struct capture_regs caller, void *from, size_t size, void *to) {
	struct hook h;
	if (to != NULL && hook_enter(&h, caller, true)) {
		from = from == NULL ? NULL : nested(from);
		hook_resize(&h, from, size);
		hook_resized(&h, from, size, nested(to), false);
		hook_leave(&h);
	}
}

EXPORT void heaptrack_malloc(void *ptr, size_t size) {
	report_malloc(MACHINE_CALLER(), ptr, size);
}

EXPORT void heaptrack_free(void *ptr) {
	report_free(MACHINE_CALLER(), ptr);
}

EXPORT void heaptrack_realloc(void *from, size_t size, void *to) {
	report_realloc(MACHINE_CALLER(), from, size, to);
}

EXPORT void heaptrack_realloc2(uintptr_t from, size_t size, uintptr_t to) {
	report_realloc(MACHINE_CALLER(), (void *)from, size, (void *)to);
}

// ---- pools

static void end_block(void *user, uint64_t block) {
	const struct capture_regs *caller = user;
	report_free(*caller, (void *)block);
}

EXPORT void heaptrack_pool_malloc(void *pool, void *ptr, size_t size) {
	struct capture_regs caller = MACHINE_CALLER();
	// Without room it is a block like others: it ends when its own end is reported
	if (pool != NULL && ptr != NULL && switch_is_on()) {
		(void)pools_add((uint64_t)pool, (uint64_t)ptr);
	}
	report_malloc(caller, ptr, size);
}

EXPORT void heaptrack_pool_free(void *pool, void *ptr) {
	struct capture_regs caller = MACHINE_CALLER();
	if (pool != NULL && ptr != NULL && switch_is_on_or_paused()) {
		(void)pools_remove((uint64_t)pool, (uint64_t)ptr);
	}
	report_free(caller, ptr);
}

EXPORT void heaptrack_pool_destroy(void *pool) {
	struct capture_regs caller = MACHINE_CALLER();
	if (pool != NULL && switch_is_on_or_paused()) {
		pools_end((uint64_t)pool, end_block, &caller);
	}
}

/** There may be one at that address whose end nobody reported. */
EXPORT void heaptrack_pool_create(void *pool) __attribute__((alias("heaptrack_pool_destroy")));

// ---- names

/** As much of a text as fits, and zeros behind it. */
static void put_text(char *out, size_t bytes, const char *text) {
	size_t n = 0;
	for (; n + 1 < bytes && text[n] != '\0'; n++) {
		out[n] = text[n];
	}
	sys_fill(out + n, 0, bytes - n);
}

/** The thread's name in the recording, in place of the system's, which has 15 bytes. */
EXPORT void heaptrack_thread_label(const char *label) {
	struct hook h;
	if (label == NULL || !hook_enter(&h, MACHINE_CALLER(), false)) {
		return;
	}
	struct thread_slot *slot = h.slot;
	uint32_t version = atomic_load(&slot->label_version) | 1;
	atomic_store(&slot->label_version, version);
	atomic_thread_fence(memory_order_release);
	put_text(slot->label, sizeof slot->label, label);
	atomic_store(&slot->label_version, version + 1);
	hook_leave(&h);
}

/** Name this moment. A mark that finds no room is counted. */
EXPORT void heaptrack_mark(const char *name) {
	struct hook h;
	if (name == NULL || !hook_enter(&h, MACHINE_CALLER(), false)) {
		return;
	}
	struct segment_header *header = segment.header;
	uint32_t i = atomic_fetch_add(&header->n_marks, 1);
	if (i < WIRE_N_MARKS) {
		struct wire_mark *mark = &segment.marks[i];
		put_text(mark->name, sizeof mark->name, name);
		uint64_t now_ns = hook_label_now(&h);
		atomic_store_explicit(&mark->time_ns, now_ns > 0 ? now_ns : 1, memory_order_release);
	}
	hook_leave(&h);
}

/** A mark, and a look at the memory, for which this thread waits. */
EXPORT void heaptrack_look(const char *name) {
	heaptrack_mark(name);
	awaiting_look(SEGMENT_LOOKING);
}

// ---- control

typedef void (*callback)(void);
static callback stop_callback;

/** Record from here on, unless this process is recorded, or was. */
EXPORT void heaptrack_start(const char *file) {
	(void)alone_start(file == NULL ? "heaptrack.$$" : file);
}

/** As KDE's, except that `after` is not called: the file is written later. */
EXPORT void heaptrack_init(const char *file, callback before, void (*after)(FILE *),
		callback stop) {
	(void)after;
	if (before != NULL) {
		before();
	}
	stop_callback = stop;
	heaptrack_start(file);
}

EXPORT void heaptrack_stop(void) {
	if (switch_is_on_or_paused()) {
		switch_turn_off(true);
		alone_wait();
	}
	callback stop = stop_callback;
	stop_callback = NULL;
	if (stop != NULL) {
		stop();
	}
}

/** Stop recording allocations; frees still are, so nothing looks leaked for it. */
EXPORT void heaptrack_pause(void) {
	switch_pause(true);
}

EXPORT void heaptrack_resume(void) {
	switch_pause(false);
}

EXPORT void heaptrack_invalidate_module_cache(void) {
	if (switch_is_on()) {
		capture_modules_changed();
	}
}

/** In KDE's, `say` writes warnings to a stream. There are none here: losses are counted. */
EXPORT void heaptrack_warning(void (*say)(FILE *)) {
	(void)say;
}
