// SPDX-License-Identifier: MIT

/*
 * The body of one library. TREE_LIBRARY is the name of its table of functions. Kinds of frames:
 * plain, alloca, over-aligned, over-aligned with alloca and arguments on the stack (DRAP), tail
 * call, setjmp, try (C++ only), called back by libc.
 */

#include "tree.h"

#include <alloca.h>
#include <stdlib.h>
#include <string.h>

#define NOINLINE static __attribute__((noinline))

static inline void consume(void *p) {
	__asm__ volatile("" : : "r"(p) : "memory");
}

/** Leave this frame for good, now and then. */
static inline void maybe_leave(struct tree *t) {
	if (!t->may_leave || tree_random(t, 64) != 0) {
		return;
	}
#ifdef __cplusplus
	if (t->n_try > 0) {
		throw t->depth;
	}
#endif
	if (t->jump != NULL && t->n_try == 0) {
		longjmp(*t->jump, 1);
	}
}

/** Visit and call, some times over. Inlined, so that each function has call sites of its own. */
static inline __attribute__((always_inline)) void wander(struct tree *t) {
	t->depth++;
	for (uint32_t n = 1 + tree_random(t, 3); n > 0 && t->n_left > 0; n--) {
		if (tree_random(t, 4) == 0) {
			t->visit(t);
		}
		if (t->depth < t->limit) {
			tree_pick(t)(t);
		} else {
			t->visit(t);
			t->visit(t);
		}
		maybe_leave(t);
	}
	t->depth--;
}

#define PLAIN(I)                              \
	NOINLINE void plain_##I(struct tree *t) { \
		char room[8 + I * 40];                \
		consume(room);                        \
		wander(t);                            \
		consume(room);                        \
	}

#define ALLOCA(I)                                                  \
	NOINLINE void alloca_##I(struct tree *t) {                     \
		char *room = (char *)alloca(16 + tree_random(t, 400 * I)); \
		consume(room);                                             \
		wander(t);                                                 \
		consume(room);                                             \
	}

#define ALIGNED(I)                                      \
	NOINLINE void aligned_##I(struct tree *t) {         \
		__attribute__((aligned(64))) char room[64 * I]; \
		consume(room);                                  \
		wander(t);                                      \
		consume(room);                                  \
	}

#define DRAP(I)                                                                                   \
	NOINLINE long drap_callee_##I(struct tree *t, long a, long b, long c, long d, long e, long f, \
			long g) {                                                                             \
		__attribute__((aligned(64))) char room[64 * I];                                           \
		char *more = (char *)alloca(16 + tree_random(t, 200));                                    \
		consume(room);                                                                            \
		consume(more);                                                                            \
		wander(t);                                                                                \
		consume(room);                                                                            \
		return a + b + c + d + e + f + g;                                                         \
	}                                                                                             \
	NOINLINE void drap_##I(struct tree *t) {                                                      \
		long sum = drap_callee_##I(t, 1, 2, 3, 4, 5, t->depth, t->limit);                         \
		consume(&sum);                                                                            \
	}

#define TAIL(I)                                     \
	NOINLINE void tail_##I(struct tree *t) {        \
		char room[8 * I];                           \
		memset(room, 1, sizeof(room));              \
		consume(room);                              \
		t->visit(t);                                \
		if (t->depth < t->limit && t->n_left > 0) { \
			tree_pick(t)(t);                        \
		}                                           \
	}                                               \
	NOINLINE void tail_jump_##I(struct tree *t) {   \
		if (tree_random(t, 3) == 0) {               \
			t->visit(t);                            \
		}                                           \
		tail_##I(t);                                \
	}

#define JUMP(I)                              \
	NOINLINE void jump_##I(struct tree *t) { \
		jmp_buf here;                        \
		jmp_buf *const outer = t->jump;      \
		const uint32_t depth = t->depth;     \
		const uint32_t n_try = t->n_try;     \
		if (setjmp(here) == 0) {             \
			t->jump = &here;                 \
			t->n_try = 0;                    \
			wander(t);                       \
		} else {                             \
			t->visit(t);                     \
		}                                    \
		t->jump = outer;                     \
		t->depth = depth;                    \
		t->n_try = n_try;                    \
	}

#ifdef __cplusplus
#define TRY(I)                              \
	NOINLINE void try_##I(struct tree *t) { \
		jmp_buf *const outer = t->jump;     \
		const uint32_t depth = t->depth;    \
		const uint32_t n_try = t->n_try;    \
		t->n_try++;                         \
		try {                               \
			char room[24 * I];              \
			consume(room);                  \
			wander(t);                      \
		} catch (uint32_t) {                \
			t->is_catching++;               \
			t->visit(t);                    \
			t->is_catching--;               \
		}                                   \
		t->jump = outer;                    \
		t->depth = depth;                   \
		t->n_try = n_try;                   \
	}
#else
#define TRY(I)                              \
	NOINLINE void try_##I(struct tree *t) { \
		if (tree_random(t, 2) == 0) {       \
			char room[24 * I];              \
			consume(room);                  \
			wander(t);                      \
			consume(room);                  \
		} else {                            \
			wander(t);                      \
		}                                   \
	}
#endif

static __thread struct tree *called_back_tree;

#define CALLBACK(I)                                             \
	NOINLINE int compare_##I(const void *a, const void *b) {    \
		struct tree *t = called_back_tree;                      \
		(void)a;                                                \
		(void)b;                                                \
		wander(t);                                              \
		called_back_tree = t;                                   \
		return 0;                                               \
	}                                                           \
	NOINLINE void callback_##I(struct tree *t) {                \
		long key = 1;                                           \
		called_back_tree = t;                                   \
		(void)bsearch(&key, &key, 1, sizeof(key), compare_##I); \
		t->visit(t);                                            \
	}

#define KINDS(I) PLAIN(I) ALLOCA(I) ALIGNED(I) DRAP(I) TAIL(I) JUMP(I) TRY(I) CALLBACK(I)
KINDS(1)
KINDS(2)
KINDS(3)

#define NAMES(I) \
	plain_##I, alloca_##I, aligned_##I, drap_##I, tail_jump_##I, jump_##I, try_##I, callback_##I

#ifdef __cplusplus
extern "C"
#endif
		tree_function *const TREE_LIBRARY[TREE_N_FUNCTIONS] = {NAMES(1), NAMES(2), NAMES(3)};
