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

/**
 * A thread that stands still. Each word of its registers may be an address: of general ones, by
 * their numbers in DWARF up to the program counter, and of vector registers as xsave has them.
 */
enum { GRAPH_PC = 16, GRAPH_VECTORS = 19, GRAPH_WORDS = GRAPH_VECTORS + 832 / 8 };
struct graph_thread {
	uint64_t sp; // from where on it uses its stack
	uint64_t fs_base;
	uint32_t tid;
	uint64_t words[GRAPH_WORDS];
};

/**
 * In place of the address of a word in a register, where no process has memory. What behind the
 * program counter is of the same frame as that.
 */
#define GRAPH_AT_WORD(thread, word) \
	(~((uint64_t)(thread)*GRAPH_WORDS + ((word) < GRAPH_PC ? (word) : GRAPH_PC)))

/**
 * The stack of blocks from before an attach, of which only sizes tell them apart; in holders, plus
 * the number of bits of their sizes. Above those of all stacks.
 */
#define GRAPH_OLD           (UINT32_MAX - 66)
#define GRAPH_BITS_OF(size) (64 - (uint32_t)__builtin_clzll((size) | 1))

struct graph_input {
	const struct parts_input *parts;
	const struct rec_node *nodes; // of the stacks; NULL: each stack is one of its own
	uint32_t n_nodes;
	const struct graph_thread *threads; // by rising sp, and as those of parts
	size_t n_threads;
	/**
	 * What the allocator itself knows of, by rising address; n_heap 0: it was not asked. Blocks
	 * from before an attach that it does not know are none: they were just being freed. What it
	 * knows alone may have just been allocated: it is held.
	 */
	const struct extent *heap;
	size_t n_heap;
	const uint64_t *kernel_words; // what the kernel keeps for the process
	size_t n_kernel_words;
	/** Memory of the process. Called by several threads at a time. False: not all of it. */
	bool (*read)(void *user, uint64_t at, void *out, size_t bytes);
	/** Where the variable begins that this word is of; 0: not known. One thread. May be NULL. */
	uint64_t (*variable)(void *user, uint32_t area, uint64_t at);
	/**
	 * Of whose frame a word on a stack or in a register is: a number for all frames of a function
	 * in that thread, larger for those further out; 0: not known. One thread. May be NULL.
	 */
	uint32_t (*frame)(void *user, uint64_t at);
	/**
	 * A number for the class whose objects begin with this word, which points into a module.
	 * 0: it is of none. One thread. May be NULL.
	 */
	uint32_t (*class_of)(void *user, uint64_t word);
	void *user;
};

/** Memory that is no block and points to some. */
struct graph_root {
	uint64_t at;      // where it begins
	uint32_t area;    // of parts_input.areas; of a variable, that of its module's file
	uint32_t mapping; // as in struct parts_row
	uint32_t thread;  // 1 + that of parts_input.threads; 0: none, or not known
	uint32_t frame;   // on the thread's stack, as of graph_input.frame; 0: none, or not known
	uint8_t kind;     // enum rec_holder_kind
};

/** A row of recording.holders, but for its look and name. */
struct graph_holder {
	struct rec_holder row;
	struct graph_root root; // of a row without one above it
	uint32_t class;         // of blocks, as in rec_grade
};

struct graph_holders {
	VEC(struct graph_holder);
};

enum { GRAPH_SHARERS = 3 };

/** Zeroed: empty. */
struct graph {
	// By stack, grade and class, and lost blocks from before an attach by size; `look` is 0
	VEC(struct rec_grade) grades;
	VEC(struct rec_class) classes; // the name is the number of graph_input.class_of
	struct graph_holders holders;  // each after the one above it
	// Those that lead to half or more of what several roots hold
	struct graph_root sharers[GRAPH_SHARERS];
	unsigned n_sharers;
};

/**
 * Of blocks that are held, what holds them: a root holds what would not be reached without it, a
 * block likewise. Stacks and registers hold only what nothing else does, and frames what those
 * further out in the thread do not. A word that less than a
 * fiftieth of the blocks of a stack have, or less than half of them and less than a fiftieth of the
 * pointers into those of another one, does not count where others lead to the block: left behind in
 * the middle of a list it would break it in two. Of a hundred large blocks or more of a stack, less
 * than half that lead to those of another one are enough. Stacks of the same places, of whatever
 * thread and however often they recur, are one there.
 *
 * False: `err` says why nothing is known. `out` is to be finished in any case.
 */
bool graph_grade(const struct graph_input *in, struct graph *out, struct err *err);

static inline void graph_finish(struct graph *g) {
	CALL_FOR(vec_finish, g, grades, classes, holders);
}
