// SPDX-License-Identifier: MIT
#pragma once
/**
 * Grades the live blocks of a process by whether anything points to them: `enum rec_grade_id` of
 * trace/recording.h. The process stands still while its memory is read. It uses no files, clocks or
 * processes.
 *
 * A word points to a block if it is its address, or lies inside of it or one past its end; words at
 * multiples of 8 are looked at. What no pointer leads to is searched for once more, at every byte
 * and with the bits masked that programs hide flags in. Doubt makes a block held: stale words in
 * stacks, and numbers that look like addresses, hold.
 *
 * Roots are the registers, the stacks from their stack pointers on, and what is mapped and was
 * written, but for memory of the allocator.
 */

#include "engine/parts.h"

/** A thread that stands still. Each word of its registers may be an address. */
enum { GRAPH_WORDS = 27 + 832 / 8 }; // general registers, and vector registers as xsave has them
struct graph_thread {
	uint64_t sp; // from where on it uses its stack
	uint64_t words[GRAPH_WORDS];
};

struct graph_input {
	const struct parts_input *parts;
	const struct graph_thread *threads;
	size_t n_threads;
	const uint64_t *kernel_words; // what the kernel keeps for the process
	size_t n_kernel_words;
	/** Memory of the process. Called by several threads at a time. False: not all of it. */
	bool (*read)(void *user, uint64_t at, void *out, size_t bytes);
	void *user;
};

/** Zeroed: empty. */
struct graph {
	VEC(struct rec_grade) grades; // by stack and grade; `look` is 0
};

/** False: `err` says why nothing is known. `out->grades` is to be finished in any case. */
bool graph_grade(const struct graph_input *in, struct graph *out, struct err *err);
