// SPDX-License-Identifier: MIT
#pragma once
/**
 * The figures of each stack that allocated, exact at every moment. A map leads from the caller's
 * node and thread to the stack. Two cache lines hold what nearly every event needs.
 *
 * Threads that allocate at one node are distinguished as long as there are few of both: the first
 * STACKS_THREADS threads, until there are STACKS_BY_THREAD stacks. All others share one stack per
 * node, that of thread 0. A node remembers the last stack requested, so that a single thread, or
 * consecutive events of one, need no further lookup.
 *
 * The composition at the peak needs no second pass: "copy on first write after a new peak". Each
 * new peak that follows a change below it starts an epoch. Before a stack changes without a new
 * peak, it copies its live values, once per epoch. So what a stack held at the peak is its copy of
 * this epoch, or, if it has not changed since, what it holds now.
 */

#include "trace/recording.h"

enum { STACK_NONE = UINT32_MAX, STACK_LIFETIMES = REC_LIFETIMES };

struct stack {
	// One line for allocations
	_Alignas(64) uint64_t live_bytes;
	uint64_t peak_bytes; // valid in `epoch`
	uint32_t live_blocks, peak_blocks;
	uint64_t allocations, allocated_bytes;
	uint64_t last;       // moment of the last allocation
	uint32_t epoch;      // of the copy
	uint32_t log_hint;   // where bins logged its last free
	uint32_t usual_size; // the first size; UINT32_MAX: that or larger
	uint32_t n_sizes;    // sizes counted exactly, the usual one included

	// One more for frees, young blocks and realloc
	_Alignas(64) uint8_t lifetimes[STACK_LIFETIMES]; // modulo 256; stacks.lives has the rest
	uint64_t first;                                  // moment of the first allocation
	uint64_t reallocs;
	uint64_t temporary, temporary_bytes, short_lived;
	uint32_t node;
	uint32_t thread; // 0: all without a stack of their own
};
_Static_assert(sizeof(struct stack) == 128, "two cache lines");

/** The overflow of a stack's lifetimes[], in multiples of 256. */
struct stack_lives {
	uint32_t stack;
	struct rec_lifetimes counts;
};

enum {
	STACK_NODE_PAGE = 1 << 16,
	STACKS_THREADS = 1 << 10,
	STACKS_BY_THREAD = 300000,
};

/** The last request for a node. */
struct stack_at_node {
	uint32_t stack; // + 1; 0: never
	uint32_t owner;
};

struct stacks {
	struct stack *items;
	size_t capacity;
	uint32_t n;
	uint32_t newest_owner;             // the highest thread that has a stack of its own
	uint32_t owner_most;               // higher ones have none, and get none
	struct stack_at_node **node_pages; // [node >> 16][node & 0xffff]
	uint32_t n_node_pages;
	struct index by_thread; // (node, thread) -> stack, of nodes that have several

	struct stack_lives *lives;
	size_t lives_capacity;
	uint32_t n_lives;
	struct index lives_of; // stack -> lives
};

void stacks_init(struct stacks *s);
void stacks_finish(struct stacks *s);
uint64_t stacks_bytes(const struct stacks *s);

/** For which thread to request stacks: 0 for all that have none of their own. */
static inline uint32_t stacks_owner(const struct stacks *s, uint32_t thread) {
	return thread <= s->owner_most ? thread : 0;
}

/** The slow path of stacks_at: another thread than last time, or a new stack. */
uint32_t stacks_find(struct stacks *s, uint32_t node, uint32_t thread, uint64_t size,
		uint64_t moment);

/** The stack of a node and an owner, if that was the node's last request; else STACK_NONE. */
static ATTR_INLINE uint32_t stacks_known(const struct stacks *s, uint32_t node, uint32_t owner) {
	const struct stack_at_node *page = s->node_pages[node / STACK_NODE_PAGE];
	if (LIKELY(page != NULL)) {
		const struct stack_at_node *known = &page[node % STACK_NODE_PAGE];
		if (LIKELY(known->stack && known->owner == owner)) {
			return known->stack - 1;
		}
	}
	return STACK_NONE;
}

/** The stack of a node and a thread; created at their first allocation, which has this size. */
static inline uint32_t stacks_at(struct stacks *s, uint32_t node, uint32_t thread, uint64_t size,
		uint64_t moment) {
	uint32_t stack = stacks_known(s, node, thread);
	return stack != STACK_NONE ? stack : stacks_find(s, node, thread, size, moment);
}

/** Prefetch for a request for `node`. Inline, or gcc drops it: it has no other effect. */
static ATTR_INLINE void stacks_fetch(const struct stacks *s, uint32_t node) {
	const struct stack_at_node *page = s->node_pages[node / STACK_NODE_PAGE];
	if (page) {
		__builtin_prefetch(&page[node % STACK_NODE_PAGE]);
	}
}

/** Call before live values change without a new peak. */
static inline void stack_keep_peak(struct stack *s, uint32_t epoch) {
	if (s->epoch != epoch) {
		s->epoch = epoch;
		s->peak_bytes = s->live_bytes;
		s->peak_blocks = s->live_blocks;
	}
}

/** The index in lifetimes[] for a lifetime: < 1 us, < 4 us, < 16 us ... */
static inline unsigned lifetime_class(uint64_t life_ns) {
	uint64_t us = life_ns / 1000;
	unsigned n = us ? (63 - (unsigned)__builtin_clzll(us)) / 2 + 1 : 0;
	return n < STACK_LIFETIMES ? n : STACK_LIFETIMES - 1;
}

void stacks_reserve_lives(struct stacks *s, uint32_t more);

/** The slow path of stacks_count_life. */
void stacks_carry_lives(struct stacks *s, uint32_t stack, unsigned class);

/** Count a death in a class of lifetimes. Requires stacks_reserve_lives. */
static inline void stacks_count_life(struct stacks *s, uint32_t stack, unsigned class) {
	if (UNLIKELY(++s->items[stack].lifetimes[class] == 0)) {
		stacks_carry_lives(s, stack, class);
	}
}

/** Restart epochs because their number no longer fits: `epoch` becomes 1. */
void stacks_restart_epochs(struct stacks *s, uint32_t epoch);

// ---- how often a stack allocated each size
//
// Most blocks have their stack's first size, which is not counted here: it is what the others
// leave. The first 64 sizes of a stack, and size 0, are counted exactly, all later ones in the
// class of their highest bit.

struct size_count {
	uint64_t size; // of a class: its smallest
	uint64_t count, bytes;
	uint32_t stack;
	uint32_t is_class;
};

struct sizes {
	struct size_count *items;
	size_t capacity;
	uint32_t n;
	uint32_t max_per_stack;
	struct index index;
};

void sizes_reserve(struct sizes *z, uint32_t more);

/** Is this size one that is not counted here? */
static inline bool size_is_usual(const struct stack *s, uint64_t size) {
	return size == s->usual_size && LIKELY(size < UINT32_MAX);
}

/** Count an allocation of an unusual size. Requires sizes_reserve. */
void sizes_count(struct sizes *z, struct stack *s, uint32_t stack, uint64_t size);

/** Where blocks of this size are counted; INDEX_NONE: usual, or never allocated. */
uint32_t sizes_find(const struct sizes *z, const struct stack *s, uint32_t stack, uint64_t size);

void sizes_finish(struct sizes *z);
uint64_t sizes_bytes(const struct sizes *z);
