// SPDX-License-Identifier: MIT
#pragma once

/**
 * Random call trees over several libraries. Each library is tree_body.h, compiled with options of
 * its own; every function visits (captures its stack) and calls others as chance has it.
 */

#include <setjmp.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

struct tree;
typedef void tree_function(struct tree *t);

enum { TREE_N_LIBRARIES = 6, TREE_N_FUNCTIONS = 24 };

struct tree {
	tree_function *const *functions; // of all libraries
	uint64_t random;
	int64_t n_left;  // visits to go
	uint32_t depth;  // of tree functions
	uint32_t limit;  // of depth, for this tree
	uint32_t n_try;  // enclosing frames that catch, inside of `jump`
	jmp_buf *jump;   // innermost frame that a longjmp may go to, or NULL
	int may_leave;   // frames may be left by longjmp and throw
	int is_catching; // inside of a catch clause, where coroutines must not switch
	void (*visit)(struct tree *t);
	void *user;
};

extern tree_function *const tree_library_0[TREE_N_FUNCTIONS];
extern tree_function *const tree_library_1[TREE_N_FUNCTIONS];
extern tree_function *const tree_library_2[TREE_N_FUNCTIONS];
extern tree_function *const tree_library_3[TREE_N_FUNCTIONS];
extern tree_function *const tree_library_4[TREE_N_FUNCTIONS];
extern tree_function *const tree_library_5[TREE_N_FUNCTIONS];

static inline uint32_t tree_random(struct tree *t, uint32_t below) {
	t->random ^= t->random << 13;
	t->random ^= t->random >> 7;
	t->random ^= t->random << 17;
	return (uint32_t)((t->random >> 32) * below >> 32);
}

static inline tree_function *tree_pick(struct tree *t) {
	return t->functions[tree_random(t, TREE_N_LIBRARIES * TREE_N_FUNCTIONS)];
}

#ifdef __cplusplus
}
#endif
