// SPDX-License-Identifier: MIT
#pragma once

/**
 * The bodies of the exported functions: what each word of the column "what it does" of hooks.def
 * means. `call` is the call of the real function.
 */

#include "recorder/core/hook.h"
#include "recorder/preload/early.h"
#include "recorder/preload/real.h"

#include <asm/resource.h>

#define REPLACE_ALLOCATES(call, size)                                          \
	struct hook h;                                                             \
	struct capture_regs caller = MACHINE_CALLER();                             \
	uint32_t node;                                                             \
	struct thread_slot *usual = hook_begin_allocation(&h, &caller, &node);     \
	if (__builtin_expect(usual == NULL, 0) && !hook_enter(&h, caller, true)) { \
		return call;                                                           \
	}                                                                          \
	void *block = call;                                                        \
	if (__builtin_expect(usual != NULL, 1)) {                                  \
		hook_end_allocation(&h, usual, block, size, node);                     \
	} else {                                                                   \
		hook_allocated(&h, block, size);                                       \
		hook_leave(&h);                                                        \
	}                                                                          \
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

#define REPLACE_FREES(call, ptr)                                                        \
	if (early_owns(ptr)) {                                                              \
		return;                                                                         \
	}                                                                                   \
	struct hook h;                                                                      \
	struct capture_regs caller = MACHINE_CALLER();                                      \
	struct thread_slot *usual = ptr != NULL ? hook_begin_free(&h, &caller, ptr) : NULL; \
	if (__builtin_expect(usual != NULL, 1)) {                                           \
		call;                                                                           \
		hook_end_free(&h, usual);                                                       \
		return;                                                                         \
	}                                                                                   \
	if (ptr == NULL || !hook_enter(&h, caller, hook_wants_free_stacks())) {             \
		call;                                                                           \
		return;                                                                         \
	}                                                                                   \
	if (__builtin_expect(capture_is_loader(caller.pc), 0)) {                            \
		capture_modules_changed();                                                      \
	}                                                                                   \
	hook_free(&h, ptr);                                                                 \
	call;                                                                               \
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

#define REPLACE_REGISTERS(call, begin)  \
	if (door_is_ours()) {               \
		capture_register_frames(begin); \
	}                                   \
	return call;

#define REPLACE_DEREGISTERS(call, begin)  \
	if (door_is_ours()) {                 \
		capture_deregister_frames(begin); \
	}                                     \
	return call;

#define REPLACE_LIMITS(call, resource, limit)                                               \
	if (resource == RLIMIT_AS && limit != NULL && *limit != UINT64_MAX && door_is_ours()) { \
		segment_give_back(*limit);                                                          \
	}                                                                                       \
	return call;

// Without the right to lock more than its limit, a program is refused for what we only reserved
#define REPLACE_LOCKS(call, none) \
	if (!door_is_ours()) {        \
		return call;              \
	}                             \
	segment_close_unused(true);   \
	int result = call;            \
	if (result != 0) {            \
		segment_give_back(0);     \
		result = call;            \
	}                             \
	segment_close_unused(false);  \
	return result;

/** realloc of a block of the early arena: a new block, and a copy. */
void *replace_early(const void *ptr, size_t size);
