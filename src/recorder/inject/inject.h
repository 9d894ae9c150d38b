// SPDX-License-Identifier: MIT
#pragma once

/** Between the stub and the hooks: what arch/<machine>/stubs.S lays out and calls. */

#include "recorder/core/hook/hook.h"
#include "recorder/inject/layout.h"
#include "wire/resident.h"

/** A call's way through the hook. */
enum inject_kind {
	INJECT_PASSES,
	INJECT_ALLOCATES,
	INJECT_ALLOCATES_AT,
	INJECT_MOVES,
	INJECT_ALLOCATES_WITHIN,
	INJECT_FREES,
	INJECT_FREES_BY_REALLOC
};

/** A call of a patched function, lowest address first; behind it the caller's stack goes on. */
struct inject_frame {
	uint32_t kind, reserved; // enum inject_kind
	uint64_t ptr, size;      // arguments
	struct thread_words *self;
	struct hook hook;
	uint64_t arguments
			[6]; // the caller's registers; rdx and rax, then, as the real function left them
	uint64_t rax, r10, r11;
	union {
		struct resident_hook *what;
		uint64_t goes_on_at;
	};
	uint64_t bp, pc; // the caller's frame pointer, and where it goes on
};

/**
 * Has the patch been taken back while the real function ran? Then the recording is over: others have freed
 * blocks unseen since, and what this call gives out may be one of them.
 */
static inline bool inject_is_late(const struct inject_frame *f) {
	// Written from outside, all threads stopped
	return __atomic_load_n(&f->what->is_patched, __ATOMIC_RELAXED) == 0;
}

/** Patched functions come here, by an island that has pushed `bp` and `what`. */
void inject_stub(void);
/** The same of functions that answer with a block of as many bytes as their first argument says. */
void inject_stub_allocates(void);
/** Of those that free the block that their first argument points to. */
void inject_stub_frees(void);

/** The thread's end frees what lies in its cache: the program has freed it before. */
extern struct resident_range inject_thread_caches[RESIDENT_THREAD_CACHES]
		__attribute__((visibility("default")));

static inline bool inject_is_thread_cache(uint64_t pc) {
	const struct resident_range *r = inject_thread_caches;
	_Static_assert(RESIDENT_THREAD_CACHES == 2, "both");
	return pc - r[0].at < r[0].bytes || pc - r[1].at < r[1].bytes;
}

void inject_enter(struct inject_frame *f);
/** True: what was called has found no memory. The real function, at `goes_on_at`, shall say so itself. */
bool inject_leave(struct inject_frame *f);

// The same for the other two stubs (usual.c). What they take first is where the call has it anyhow
void inject_enter_allocation(uint64_t size, struct inject_frame *f);
/** Returns the block. */
uint64_t inject_leave_allocation(uint64_t block, struct inject_frame *f);
void inject_enter_free(uint64_t block, struct inject_frame *f);
void inject_leave_free(struct inject_frame *f);

/** Open the door. Called once, from outside, before anything is patched. 1: it is open. */
long inject_begin(struct resident *resident);

/**
 * Where errands begin (wire/errand.h), in the midst of a system call: the first is made by the registers
 * as they are, so that it can make the resident's memory writable. %rbx: the errand.
 */
void inject_errand(void);

/** All of it but the first call. Returns if nobody came: the frame to go back by. */
uint64_t inject_do_errand(struct errand *errand);
