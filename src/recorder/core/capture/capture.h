// SPDX-License-Identifier: MIT
#pragma once

/**
 * From a thread's registers to the node of its stack in the shared trie. Incremental and exact:
 * what the last capture of the context found is checked against memory and re-used
 * (capture.c explains why equal slots cannot lie). Freestanding: no libc, no lock, no signal-unsafe
 * call, errno untouched. Any thread, any signal handler; a context is used by one capture at a
 * time (the caller picks another context when it interrupted one).
 */

#include "wire/segment.h"

#include <stdbool.h>

/** The state of a caller right after our hook returns to it. */
struct capture_regs {
	uint64_t pc; // return address
	uint64_t sp; // stack pointer after the return
	uint64_t bp; // frame pointer register as the caller had it
};

/** Process-wide: the recorder's view of the segment, set once per image before the first capture. */
struct capture_world {
	struct segment_header *header;
	struct wire_module *modules; // entry 0 unused
	struct wire_node *nodes;
	uint32_t n_modules_max, n_nodes_max; // what is mapped
	uint32_t image;
};

/**
 * Prepare the tables of this image (rules, trie hash, module list), in private memory of our own.
 * False: no memory; captures then give node 0 and count as truncated.
 */
bool capture_setup(const struct capture_world *world);

/**
 * A capture context lives in `bytes` of zeroed memory of the caller (a thread slot's private
 * part); how many frames it can remember follows from `bytes`: one per 72 bytes; deeper stacks lose
 * their outermost frames. [stack_low, stack_high) is the thread's stack, all of it readable;
 * `stack_low` may be 0: what is readable below `stack_high` is then found out page by page.
 * `stack_high` 0: nothing is known, and every stack is treated like a coroutine's.
 */
struct capture;
struct capture *capture_init(void *memory, size_t bytes, uint64_t stack_low, uint64_t stack_high);

enum {
	CAPTURE_SMALL_BYTES = 6 << 10, // the least: for threads that rarely allocate
	CAPTURE_BUSY_BYTES = 96 << 10, // from here on a context has large caches
};

struct capture_result {
	uint32_t node;       // 0: nothing could be found
	bool is_truncated;   // outer callers unknown or folded into an ancestor
	bool crossed_signal; // a signal frame lies between the leaf and `stop_sp`
};

/**
 * The stack of `regs`. `stop_sp`: 0, or the stack pointer of an outer hook on this thread that
 * this call interrupted or came from: the result then says if a signal handler lies between, which
 * tells a handler's own allocation from one made inside the real allocator.
 */
struct capture_result capture_stack(struct capture *c, const struct capture_regs *regs,
		uint64_t stop_sp);

/** Forget what the last capture of this context found: the next one unwinds in full. */
void capture_forget(struct capture *c);

/** A library was unloaded, or may have been: if one was, rules and remembered stacks become void. */
void capture_modules_changed(void);

/**
 * Unwind tables of generated code, as __register_frame and __deregister_frame get them: a row of
 * records that ends with one of length 0. Code without such tables is walked by frame pointers.
 */
void capture_register_frames(const void *eh_frame);
void capture_deregister_frames(const void *eh_frame);

/** Where glibc's loader lies; 0 bytes: not known. Set once per image. */
extern struct capture_range { uint64_t start, bytes; } capture_loader;

/** True if `pc` lies inside the dynamic loader: a free() from there hints at an unload. */
static inline bool capture_is_loader(uint64_t pc) {
	return pc - capture_loader.start < capture_loader.bytes;
}
