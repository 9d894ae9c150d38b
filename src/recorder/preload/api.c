// SPDX-License-Identifier: MIT

/**
 * The C names of heaptrack_api.h, and those that the classic recorder exported beside them, so
 * that what was built against it goes on to work.
 */

#include "recorder/core/hook.h"
#include "recorder/core/sys.h"

#include <stdio.h>

#define EXPORT __attribute__((visibility("default"), used))

// ---- allocators of the program's own: a block exists, has moved, is gone

EXPORT void heaptrack_malloc(void *ptr, size_t size);
EXPORT void heaptrack_free(void *ptr);
EXPORT void heaptrack_realloc(void *from, size_t size, void *to);
EXPORT void heaptrack_realloc2(uintptr_t from, size_t size, uintptr_t to);

EXPORT void heaptrack_malloc(void *ptr, size_t size) {
	struct hook h;
	if (ptr != NULL && hook_enter(&h, MACHINE_CALLER(), true)) {
		hook_allocated(&h, ptr, size);
		hook_leave(&h);
	}
}

EXPORT void heaptrack_free(void *ptr) {
	struct hook h;
	if (ptr != NULL && hook_enter(&h, MACHINE_CALLER(), hook_wants_free_stacks())) {
		hook_free(&h, ptr);
		hook_leave(&h);
	}
}

static inline __attribute__((always_inline)) void report_realloc(struct capture_regs caller,
		void *from, size_t size, void *to) {
	struct hook h;
	if (to == NULL || !hook_enter(&h, caller, true)) {
		return;
	}
	if (from == NULL) {
		hook_allocated(&h, to, size);
	} else {
		hook_realloc(&h, from);
		hook_realloc_answer(&h, from, to, size);
	}
	hook_leave(&h);
}

EXPORT void heaptrack_realloc(void *from, size_t size, void *to) {
	report_realloc(MACHINE_CALLER(), from, size, to);
}

EXPORT void heaptrack_realloc2(uintptr_t from, size_t size, uintptr_t to) {
	report_realloc(MACHINE_CALLER(), (void *)from, size, (void *)to);
}

// ---- control

typedef void (*callback)(void);
static callback stop_callback;

EXPORT void heaptrack_init(const char *file, callback before, void (*after)(FILE *), callback stop);
EXPORT void heaptrack_stop(void);
EXPORT void heaptrack_pause(void);
EXPORT void heaptrack_resume(void);
EXPORT void heaptrack_invalidate_module_cache(void);
EXPORT void heaptrack_warning(void (*say)(FILE *));

/** We record, or not, from the first allocation on; a file of its own is not for the target. */
EXPORT void heaptrack_init(const char *file, callback before, void (*after)(FILE *),
		callback stop) {
	(void)file;
	(void)after; // would write to the file
	if (before != NULL) {
		before();
	}
	stop_callback = stop;
}

EXPORT void heaptrack_stop(void) {
	if (door_is_open()) {
		door_close(true);
	}
	callback stop = stop_callback;
	stop_callback = NULL;
	if (stop != NULL) {
		stop();
	}
}

/** Allocations are not recorded from now on; frees still are, so nothing looks leaked for it. */
EXPORT void heaptrack_pause(void) {
	door_pause(true);
}

EXPORT void heaptrack_resume(void) {
	door_pause(false);
}

EXPORT void heaptrack_invalidate_module_cache(void) {
	if (door_is_open()) {
		capture_modules_changed();
	}
}

/** The classic one lets `say` write warnings to a stream. We have none: losses are counted. */
EXPORT void heaptrack_warning(void (*say)(FILE *)) {
	(void)say;
}
