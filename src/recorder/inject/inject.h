// SPDX-License-Identifier: MIT
#pragma once
/** What the stubs of arch/<machine>/stubs.S lay out and call. */

#include "recorder/core/hook/hook.h"
#include "recorder/inject/layout.h"
#include "wire/resident.h"

/** What a call's hook has to do when the call returns. */
enum inject_kind {
	INJECT_PASSES,
	INJECT_ALLOCATES,
	INJECT_ALLOCATES_AT,
	INJECT_RESIZES,
	INJECT_ALLOCATES_WITHIN,
	INJECT_FREES,
	INJECT_MAPS
};

/** A call of a patched function. The caller's stack continues after it. */
struct inject_frame {
	uint32_t kind, how; // enum inject_kind; enum mapping_how
	uint64_t ptr, size; // arguments
	struct thread_words *self;
	struct hook hook;
	// The caller's registers. After the call, rdx and rax are as the real function left them
	uint64_t arguments[6];
	uint64_t rax, r10, r11;
	union {
		struct resident_hook *what;
		uint64_t goes_on_at;
	};
	uint64_t bp, pc; // the caller's frame pointer, and the return address
};

/** Was the patch removed during the call? Then frees, even of its block, may have gone unseen. */
static inline bool inject_is_late(const struct inject_frame *f) {
	// Written from outside, all threads stopped
	return __atomic_load_n(&f->what->is_patched, __ATOMIC_RELAXED) == 0;
}

/** Calls of patched functions arrive here, from an island that pushed `bp` and `what`. */
void inject_stub(void);
/** The same for functions that return a block of the size in their first argument. */
void inject_stub_allocates(void);
/** For `syscall`. A call that maps nothing has no frame of ours: it may clone or vfork. */
void inject_stub_calls(void);
/** The same for functions that free the block in their first argument. */
void inject_stub_frees(void);

/** Code that frees the cache of an ending thread: blocks that the program freed before. */
extern struct resident_range inject_thread_caches[RESIDENT_THREAD_CACHES]
		__attribute__((visibility("default")));

static inline bool inject_is_thread_cache(uint64_t pc) {
	const struct resident_range *r = inject_thread_caches;
	_Static_assert(RESIDENT_THREAD_CACHES == 2, "both");
	return pc - r[0].at < r[0].bytes || pc - r[1].at < r[1].bytes;
}

void inject_enter(struct inject_frame *f);
/** True: no memory. Jump to the real function, at `goes_on_at`, which throws. */
bool inject_leave(struct inject_frame *f);

// For the other two stubs (fast_hooks.c). The first argument is the hooked call's
void inject_enter_allocation(uint64_t size, struct inject_frame *f);
uint64_t inject_leave_allocation(uint64_t block, struct inject_frame *f);
void inject_enter_free(uint64_t block, struct inject_frame *f);
void inject_leave_free(struct inject_frame *f);

/** Begin the recording. Called once from outside, before anything is patched. 1: it has begun. */
long inject_begin(struct resident *resident);
