// SPDX-License-Identifier: MIT
#pragma once
/**
 * From a thread's registers to the node of its stack in the shared trie. Incremental and exact:
 * what the last capture of the context found is checked against memory and reused (capture.c
 * explains why that gives the same result as a full unwinding). No libc, no lock, errno unchanged.
 * Any thread, any signal handler; one capture at a time uses a context, so a signal handler that
 * interrupts a capture uses another.
 */

#include "wire/segment.h"

#include <stdbool.h>

/** The registers of a hook's caller, as after the hook's return. */
struct capture_regs {
	uint64_t pc; // return address
	uint64_t sp; // stack pointer after the return
	uint64_t bp; // frame pointer register of the caller
};

/**
 * Make this image's tables (rules, hash of the trie, modules) in private memory. `segment` is
 * mapped. False: no memory; captures then give node 0 and count as truncated.
 */
bool capture_setup(void);

/**
 * Make a context in `bytes` of zeroed memory (the private part of a thread's slot). It remembers
 * one frame per 72 bytes; deeper stacks lose their outermost frames. `stack_end`: end of the
 * thread's stack, which is explored page by page; 0: not known, every stack is treated as a
 * coroutine's. `thread`: its id.
 */
struct capture;
struct capture *capture_init(void *memory, size_t bytes, uint64_t stack_end, uint32_t thread);

enum {
	CAPTURE_SMALL_BYTES = 6 << 10, // the minimum, for threads that rarely allocate
	CAPTURE_BUSY_BYTES = 96 << 10, // from here on a context has large caches
};

struct capture_result {
	uint32_t node;       // 0: nothing was found
	bool is_truncated;   // outer callers unknown or folded into an ancestor
	bool crossed_signal; // a signal frame lies between the leaf and `stop_sp`
};

/**
 * Find the node of the stack of `regs`. `stop_sp`: 0, or the stack pointer of the hook in progress
 * on this thread; `crossed_signal` then tells a signal handler's own allocation from one made
 * inside the real allocator.
 */
struct capture_result capture_stack(struct capture *c, const struct capture_regs *regs,
		uint64_t stop_sp);

/** Forget the last capture of this context. The next one unwinds in full. */
void capture_forget(struct capture *c);

/** A library may have been unloaded: if so, rules and remembered stacks become invalid. */
void capture_modules_changed(void);
