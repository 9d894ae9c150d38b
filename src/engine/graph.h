// SPDX-License-Identifier: MIT
#pragma once
/**
 * Grades the live blocks of a process by whether anything points to them: `enum rec_grade_id` of
 * trace/recording.h. It is stopped while its memory is read. Uses no files, clocks or processes.
 *
 * A word points to a block if it is its address, an address inside it, or one past its end; words
 * at multiples of 8 are examined. Blocks to which no pointer leads are searched for once more, at
 * every byte and with the bits masked in which programs hide flags. In doubt a block counts as
 * held: stale words in stacks, and numbers that look like addresses, hold.
 *
 * Roots are the registers, the stacks from their stack pointers on, and all other mapped memory
 * that was written, except the allocator's.
 */

#include "engine/parts.h"

/**
 * A stopped thread. Each word of its registers may be an address: general ones by their DWARF
 * numbers up to the program counter, vector registers in the order of xsave.
 */
enum { GRAPH_PC = 16, GRAPH_VECTORS = 19, GRAPH_WORDS = GRAPH_VECTORS + 832 / 8 };
struct graph_thread {
	uint64_t sp; // where the used part of its stack begins
	uint64_t fs_base;
	uint32_t tid;
	uint64_t words[GRAPH_WORDS];
};

/** The pseudo-address of a register's word. Words after the program counter are of its frame. */
#define GRAPH_AT_WORD(thread, word) \
	(~((uint64_t)(thread)*GRAPH_WORDS + ((word) < GRAPH_PC ? (word) : GRAPH_PC)))

/**
 * The stack of blocks from before an attach, which only their sizes distinguish; in holders, plus
 * the number of bits of the size. Larger than any stack.
 */
#define GRAPH_OLD           (UINT32_MAX - 66)
#define GRAPH_BITS_OF(size) (64 - (uint32_t)__builtin_clzll((size) | 1))

struct graph_input {
	const struct parts_input *parts;
	const struct rec_node *nodes; // of the stacks; NULL: no two stacks are the same place
	uint32_t n_nodes;
	const struct graph_thread *threads; // by rising sp, parallel to those of parts
	size_t n_threads;
	/**
	 * Blocks that the allocator itself knows, by rising address; n_heap 0: it was not asked. Blocks
	 * from before an attach that it does not know do not count: they were just being freed. What
	 * only it knows may have just been allocated, and is held.
	 */
	const struct extent *heap;
	size_t n_heap;
	const uint64_t *kernel_words; // pointers that the kernel keeps for the process
	size_t n_kernel_words;
	/** Read memory of the process. Called by several threads at once. False: not all of it. */
	bool (*read)(void *user, uint64_t at, void *out, size_t bytes);
	/** Start of the variable that holds this word; 0: not known. Single-threaded; may be NULL. */
	uint64_t (*variable)(void *user, uint32_t area, uint64_t at);
	/**
	 * The frame of a word on a stack or in a register: one number for all frames of a function in a
	 * thread, larger further out; 0: not known. As `variable`.
	 */
	uint32_t (*frame)(void *user, uint64_t at);
	/** The class whose objects begin with this word, as a number; 0: none. As `variable`. */
	uint32_t (*class_of)(void *user, uint64_t word);
	void *user;
};

/** Memory that is not a block and points to some. */
struct graph_root {
	uint64_t at;      // its start
	uint32_t area;    // of parts_input.areas; of a variable, that of its module's file
	uint32_t mapping; // as in struct parts_row
	uint32_t thread;  // 1 + its index in parts_input.threads; 0: none, or not known
	uint32_t frame;   // on the thread's stack, as in graph_input.frame; 0: none, or not known
	uint8_t kind;     // enum rec_holder_kind
};

/** A row of recording.holders, except for its look and name. */
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
	VEC(struct rec_class) classes; // the name is the number from graph_input.class_of
	struct graph_holders holders;  // each after the one above it
	// Those that lead to at least half of what several roots hold
	struct graph_root sharers[GRAPH_SHARERS];
	unsigned n_sharers;
};

/**
 * Grade all blocks and find what holds those that are held: a root or block holds what could not be
 * reached without it. Stacks and registers hold only what nothing else does, and a frame does not
 * hold what frames further out in its thread do. Where other words lead to a block, a rare one does
 * not count: one that less than a fiftieth of the blocks of a stack have, or less than half of them
 * and less than a fiftieth of the pointers into those of another. Left behind in the middle of a
 * list it would break the list in two. Of a hundred or more large blocks of a stack, fewer than
 * half that lead to those of another one are enough. Stacks of the same places are one here,
 * whatever the thread and however often they recur.
 *
 * False: `err` says why nothing is known. `out` must be finished in any case.
 */
bool graph_grade(const struct graph_input *in, struct graph *out, struct err *err);

static inline void graph_finish(struct graph *g) {
	CALL_FOR(vec_finish, g, grades, classes, holders);
}
