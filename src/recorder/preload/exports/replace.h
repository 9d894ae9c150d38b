// SPDX-License-Identifier: MIT
#pragma once
/**
 * The bodies of the exported functions, by the words of a row. Those are in the column "what it
 * does" of hooks.def and wire/allocators.def. `call` is the call of the real function.
 */

#include "recorder/core/awaiting.h"
#include "recorder/core/hook/hook.h"
#include "recorder/core/hook/mapping.h"
#include "recorder/preload/collector.h"
#include "recorder/preload/real.h"

#include <asm/resource.h>

#define REPLACE_ALLOCATES(call, size)                                     \
	struct hook h;                                                        \
	struct capture_regs caller = MACHINE_CALLER();                        \
	uint32_t node;                                                        \
	struct thread_slot *slot = hook_begin_allocation(&h, &caller, &node); \
	if (unlikely(slot == NULL) && !hook_enter(&h, caller, true)) {        \
		return call;                                                      \
	}                                                                     \
	void *block = call;                                                   \
	if (likely(slot != NULL)) {                                           \
		hook_end_allocation(&h, slot, block, size, node);                 \
	} else {                                                              \
		hook_allocated(&h, block, size);                                  \
		hook_leave(&h);                                                   \
	}                                                                     \
	return block;

#define REPLACE_ALLOCATES_N(call, n, size) REPLACE_ALLOCATES(call, product(n, size))

/** Begin any hook but the most frequent ones. */
#define ENTER(call)                                \
	struct hook h;                                 \
	if (!hook_enter(&h, MACHINE_CALLER(), true)) { \
		return call;                               \
	}

#define REPLACE_ALLOCATES_TEXT(call, none)                                     \
	ENTER(call)                                                                \
	char *block = call;                                                        \
	hook_allocated(&h, block, block != NULL ? sys_text_length(block) + 1 : 0); \
	hook_leave(&h);                                                            \
	return block;

#define REPLACE_ALLOCATES_AT(call, at, size)             \
	ENTER(call)                                          \
	int failure = call;                                  \
	hook_allocated(&h, failure == 0 ? *at : NULL, size); \
	hook_leave(&h);                                      \
	return failure;

#define REPLACE_FREES(call, ptr)                                                       \
	struct hook h;                                                                     \
	struct capture_regs caller = MACHINE_CALLER();                                     \
	struct thread_slot *slot = ptr != NULL ? hook_begin_free(&h, &caller, ptr) : NULL; \
	if (likely(slot != NULL)) {                                                        \
		call;                                                                          \
		hook_end_free(&h, slot);                                                       \
		return;                                                                        \
	}                                                                                  \
	if (ptr == NULL || !hook_enter(&h, caller, hook_wants_free_stacks())) {            \
		call;                                                                          \
		return;                                                                        \
	}                                                                                  \
	if (unlikely(module_is_loader(caller.pc))) {                                       \
		capture_modules_changed();                                                     \
		real_forget_loaded();                                                          \
	}                                                                                  \
	hook_free(&h, ptr);                                                                \
	call;                                                                              \
	hook_leave(&h);

#define REPLACE_REALLOCATES(call, ptr, size)   \
	ENTER(call)                                \
	hook_resize(&h, ptr, size);                \
	void *block = call;                        \
	hook_resized(&h, ptr, size, block, false); \
	hook_leave(&h);                            \
	return block;

#define REPLACE_REALLOCATES_N(call, ptr, n, size) REPLACE_REALLOCATES(call, ptr, product(n, size))

#define REPLACE_REALLOCATES_AT(call, at, n, size)                                    \
	void *const *place = at;                                                         \
	void *before = *place;                                                           \
	ENTER(call)                                                                      \
	hook_resize(&h, before, product(n, size));                                       \
	int failure = call;                                                              \
	hook_resized(&h, before, product(n, size), failure == 0 ? *place : NULL, false); \
	hook_leave(&h);                                                                  \
	return failure;

// An exception abandons the hook, as a jump does: the next hook notices, and counts a failed call
#define REPLACE_NEW(call, size, twin) \
	ENTER(call)                       \
	hook_set_may_throw(&h, true);     \
	void *block = call;               \
	hook_set_may_throw(&h, false);    \
	hook_allocated(&h, block, size);  \
	hook_leave(&h);                   \
	return block;

#define REPLACE_NEW_N(call, n, size, twin)        REPLACE_NEW(call, product(n, size), twin)
#define REPLACE_RENEW(call, ptr, size, twin)      REPLACE_REALLOCATES(call, ptr, size)
#define REPLACE_RENEW_N(call, ptr, n, size, twin) REPLACE_REALLOCATES_N(call, ptr, n, size)
#define REPLACE_NEW_NOTHROW(call, size)           REPLACE_ALLOCATES(call, size)
#define REPLACE_DELETE(call, ptr)                 REPLACE_FREES(call, ptr)

#define IF_RECORDED(call, action)   \
	if (switch_is_on_or_paused()) { \
		action;                     \
	}                               \
	return call;

#define REPLACE_REGISTERS(call, begin)   IF_RECORDED(call, registered_add(begin))
#define REPLACE_DEREGISTERS(call, begin) IF_RECORDED(call, registered_remove(begin))

#define REPLACE_LIMITS(call, resource, limit)                             \
	if (resource == RLIMIT_AS && limit != NULL && *limit != UINT64_MAX && \
			switch_is_on_or_paused()) {                                   \
		segment_give_back(*limit);                                        \
	}                                                                     \
	return call;

// After that, reading the time stamp counter kills the program, as it does in seccomp's strict mode
#define REPLACE_CONFINES(call, option, value, ...) \
	if (switch_is_on_or_paused()) {                \
		segment_note_prctl(option, value);         \
	}                                              \
	REPLACE_MAPPING(call, CONFINES, option, value, __VA_ARGS__)

// If that exceeds the limit of locked memory, give the reserve back and call again
#define REPLACE_LOCKS_ALL(call, none) \
	if (!switch_is_on_or_paused()) {  \
		return call;                  \
	}                                 \
	segment_close_unused(true);       \
	int result = call;                \
	if (result != 0) {                \
		segment_give_back(0);         \
		result = call;                \
	}                                 \
	segment_close_unused(false);      \
	return result;

#define REPLACE_ENDS(call, none)   \
	awaiting_look(SEGMENT_ENDING); \
	fork_note_end();               \
	call;

// The call returns only if it fails
#define EXEC(call, begin)           \
	bool is_followed = begin;       \
	__typeof__(call) result = call; \
	exec_failed(is_followed);       \
	return result;

#define REPLACE_EXECS(call, path, search) EXEC(call, exec_begin(path, search))
#define REPLACE_EXECS_FILE(call, fd)      EXEC(call, exec_begin_file(fd))

#define REPLACE_SPAWNS(call, pid)                                  \
	const int failure = call;                                      \
	if (failure == 0 && pid != NULL && switch_is_on_or_paused()) { \
		segment_note_spawned((uint32_t)*pid, false);               \
	}                                                              \
	return failure;

#define REPLACE_MAPPING(call, word, ...) MAPPING_BODY(call, RESIDENT_##word, __VA_ARGS__)
#define MAPPING_BODY(call, does, at, bytes, third, fourth, fifth)                              \
	const uint64_t registers[MAPPING_ARGUMENTS] = {(uint64_t)(at), (uint64_t)(bytes),          \
			(uint64_t)(third), (uint64_t)(fourth), (uint64_t)(fifth)};                         \
	struct hook h;                                                                             \
	enum mapping_how how = mapping_enter(&thread_self, &h, MACHINE_CALLER(), does, registers); \
	__typeof__(call) result = call;                                                            \
	if (how != MAPPING_PASSES) {                                                               \
		mapping_leave(&h, how, does, registers, (uint64_t)result);                             \
	}                                                                                          \
	return result;

// Most calls only ask where the heap ends
#define REPLACE_BREAKS_BY(call, bytes) \
	if (bytes == 0) {                  \
		return call;                   \
	}                                  \
	REPLACE_MAPPING(call, BREAKS, mapping_break(), 0, 0, 0, 0)

// An operation of seccomp is a mode of prctl's less 1; without a filter, libseccomp only asks
#define REPLACE_CALLS(call, number, a, b, c, d, e)                                    \
	const enum resident_what does = mapping_of_call(number);                          \
	if (unlikely(number == __NR_seccomp) && c != 0 && switch_is_on_or_paused()) {     \
		segment_note_prctl(PR_SET_SECCOMP, (uint64_t)a + 1);                          \
	}                                                                                 \
	if (likely(does == RESIDENT_CALLS)) {                                             \
		if (likely(!segment_is_exec(number))) {                                       \
			return call;                                                              \
		}                                                                             \
		EXEC(call, exec_begin(number == __NR_execve ? (const char *)a : NULL, false)) \
	}                                                                                 \
	MAPPING_BODY(call, does, a, b, c, d, e)

// ---- an exported function, from a row of the table

// "what" is a word and its operands: REPLACE_ goes before the word, the call before the operands
#define BODY_OF(call, word, ...) REPLACE_##word(call, __VA_ARGS__)
#define BODY(call, ...)          BODY_OF(call, __VA_ARGS__)
#define UNPACKED(...)            __VA_ARGS__
#define REPLACEMENT(result, name, parameters, arguments, what) \
	EXPORT result name parameters;                             \
	EXPORT result name parameters {                            \
		BODY(REAL(name) arguments, UNPACKED what)              \
	}
