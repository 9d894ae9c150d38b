// SPDX-License-Identifier: MIT
#pragma once
/**
 * One step of unwinding, from a frame's state to its caller's. It is a function of the state, of
 * the rule and of the words that it loads, and of nothing else: capture.c relies on that.
 *
 * No load may fault, whatever a stack contains. A walk reads inside a *window*: memory around its
 * stack pointer that is known to be readable. On the thread's own stack that is everything from the
 * lowest stack pointer ever seen to its end. On another stack (coroutines, sigaltstack) it begins
 * as the stack pointer's page and grows upwards by pages that the kernel says are readable.
 */

#include "machine.h"
#include "recorder/core/unwind/rules.h"

struct window {
	uint64_t low, high;
};

/** Are the 8 bytes at `address` inside? */
static inline bool window_has(const struct window *w, uint64_t address) {
	return address >= w->low && address < w->high && w->high - address >= 8;
}

struct walk {
	uint64_t key, sp, bp; // the state: program counter (rules.h), stack and frame pointer
	struct window window;
	struct window *own;     // of the thread's stack; grows downwards
	struct window *foreign; // the last other stack
	uint8_t n_hops;         // from stack to stack
	bool is_foreign;        // the window is not the thread's own stack
	bool is_odd;            // some step depended on more than the state and loads in one window

	// What a step that found no caller loaded
	uint8_t n_tail;
	uint64_t tail_at[3], tail_value[3];
};

/**
 * Begin at the state in `key`, `sp` and `bp`. False: even the stack pointer's page is unreadable.
 */
bool walk_begin(struct walk *w, struct window *own, struct window *foreign);

/** Grow the window so that it contains the 8 bytes at `address`. False: they may not be read. */
bool walk_reach(struct walk *w, uint64_t address);

static inline bool walk_may_load(struct walk *w, uint64_t address) {
	return window_has(&w->window, address) || walk_reach(w, address);
}

/** Load a word of a stack. It may belong to anything, so sanitizers do not check it. */
__attribute__((no_sanitize("address", "thread", "undefined"))) static inline uint64_t walk_load(
		uint64_t address) {
	return *(const uint64_t *)address;
}

enum walk_step {
	WALK_CALLER, // the state is now the caller's
	WALK_END,    // there is none: outermost frame
	WALK_CUT,    // there must be one, but it cannot be found
};

/** One step, by the step of a rule. Unless WALK_CALLER, tail_* say what was loaded. */
enum walk_step walk_step(struct walk *w, uint64_t rule);

enum { WALK_PC_MIN = MACHINE_PAGE_LEAST }; // no code lies below

static inline bool walk_is_pc(uint64_t pc) {
	return pc >= WALK_PC_MIN && pc <= MACHINE_PC_MAX;
}

/**
 * The path of a frame: the `where`s of all frames from the root to it, hashed to 64 bits. It finds
 * the node of a known stack at once; nodes in between are looked up only if the stack is new. Two
 * stacks with one leaf are confused if their paths are equal by chance: among a million such
 * stacks, in one of 4 * 10^7 programs. `outer` is the caller's path, 0 at the root. The product
 * with the golden ratio separates values that differ little, the shift brings that to the low half.
 */
static inline uint64_t path_step(uint64_t outer, uint64_t where) {
	uint64_t h = (outer ^ where) * 0x9E3779B97F4A7C15ull;
	return h ^ h >> 32;
}
