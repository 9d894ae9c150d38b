// SPDX-License-Identifier: MIT
#pragma once

/**
 * The bodies of the exported functions: what each word of the column "what it does" of hooks.def
 * means. `call` is the call of the real function.
 */

#include "recorder/core/hook.h"
#include "recorder/preload/early.h"
#include "recorder/preload/real.h"

#define REPLACE_ALLOCATES(call, size)              \
	struct hook h;                                 \
	if (!hook_enter(&h, MACHINE_CALLER(), true)) { \
		return call;                               \
	}                                              \
	void *block = call;                            \
	hook_allocated(&h, block, size);               \
	hook_leave(&h);                                \
	return block;

#define REPLACE_ALLOCATES_AT(call, at, size)             \
	struct hook h;                                       \
	if (!hook_enter(&h, MACHINE_CALLER(), true)) {       \
		return call;                                     \
	}                                                    \
	int failure = call;                                  \
	hook_allocated(&h, failure == 0 ? *at : NULL, size); \
	hook_leave(&h);                                      \
	return failure;

#define REPLACE_FREES(call, ptr)                                            \
	if (early_owns(ptr)) {                                                  \
		return;                                                             \
	}                                                                       \
	struct hook h;                                                          \
	struct capture_regs caller = MACHINE_CALLER();                          \
	if (ptr == NULL || !hook_enter(&h, caller, hook_wants_free_stacks())) { \
		call;                                                               \
		return;                                                             \
	}                                                                       \
	if (__builtin_expect(capture_is_loader(caller.pc), 0)) {                \
		capture_modules_changed();                                          \
	}                                                                       \
	hook_free(&h, ptr);                                                     \
	call;                                                                   \
	hook_leave(&h);

// realloc(ptr, 0) frees; where an allocator gives out a block for it, that is an allocation
#define REPLACE_REALLOCATES(call, ptr, size)       \
	if (__builtin_expect(early_owns(ptr), 0)) {    \
		return replace_early(ptr, size);           \
	}                                              \
	struct hook h;                                 \
	if (!hook_enter(&h, MACHINE_CALLER(), true)) { \
		return call;                               \
	}                                              \
	bool frees = ptr != NULL && size == 0;         \
	bool moves = ptr != NULL && size != 0;         \
	if (frees) {                                   \
		hook_free(&h, ptr);                        \
	} else if (moves) {                            \
		hook_realloc(&h, ptr);                     \
	}                                              \
	void *block = call;                            \
	if (moves) {                                   \
		hook_realloc_answer(&h, ptr, block, size); \
	} else if (!frees || block != NULL) {          \
		hook_allocated(&h, block, size);           \
	}                                              \
	hook_leave(&h);                                \
	return block;

#define REPLACE_PASSES(call) return call;

/** realloc of a block of the early arena: a new block, and a copy. */
void *replace_early(const void *ptr, size_t size);
