// SPDX-License-Identifier: MIT
#pragma once
/**
 * What a capture context remembers of its last stack, and its caches of rules and nodes. Shared by
 * capture.c, which explains the idea and has the fast ways, and full.c, which handles all cases.
 */

#include "recorder/core/capture/capture.h"
#include "recorder/core/capture/trie.h"
#include "recorder/core/runtime/chain.h"
#include "recorder/core/runtime/v8.h"
#include "recorder/core/unwind/modules.h"

// struct frame.checks: the number of checks from the root to this frame, and flags
enum {
	FRAME_CHECKS = (1u << 27) - 1,
	FRAME_IS_RUNTIMES = 1u << 27, // this frame itself is a runtime's
	FRAME_OF_RUNTIME = 1u << 28,  // it, or one further out, is (rules.h: RULE_OF_RUNTIME)
	FRAME_FOLDED = 1u << 29,      // the node is an ancestor's: the node budget is exhausted
	FRAME_TRUNCATED = 1u << 30,   // the root is missing, or the stack is folded
};
#define FRAME_BP_LIVE (1u << 31) // a step from here outwards uses the frame pointer

struct frame {
	uint64_t where, sp, bp;
	union {
		uint64_t path; // path_step
		uint64_t rule; // while new: rule.step
	};
	uint32_t node; // 0: not looked up yet (or FRAME_FOLDED into the root)
	uint32_t checks;
};

/** The node of a recent stack, by its path and the low half of its leaf's `where`. */
struct known_stack {
	uint64_t path;
	uint32_t where, node;
};

struct capture {
	struct window own, foreign;
	uint32_t generation;
	uint32_t n_max;
	uint32_t n_checks_max;
	uint8_t rule_shift, known_shift; // a hash shifted by so much is its place in the cache
	uint64_t leaf;                   // the `where` of the captured frame
	// Root first; new frames are collected at the other end of the array. The first one is a
	// sentinel that ends all searches: its stack pointer is the highest possible
	struct frame *frames, *last;
	uint64_t *check_at, *check_value;
	struct rule *rules;
	struct known_stack *known;
	struct guard guard;
	struct known_python python;
	uint32_t thread; // its id
	uint32_t memo_mask;
};

/**
 * What is remembered of a V8 frame, in the place of a Python one: hardly any program has both, and
 * then neither is taken for the other's, as no code lies where a Python frame does.
 */
static inline struct v8_memo *memo_of(const struct capture *c, const struct frame *f) {
	return (struct v8_memo *)&c->python.frames[(size_t)(f - c->frames) & c->memo_mask];
}
_Static_assert(sizeof(struct v8_memo) == sizeof(struct known_frame), "in its place");

/** Unwind to the root or to a remembered frame that holds: handles all cases. */
struct capture_result capture_in_full(struct capture *c, const struct capture_regs *regs,
		uint64_t stop_sp);

// ---- the caches

static inline struct rule *rule_place(const struct capture *c, uint64_t key) {
	return &c->rules[key * 0x9E3779B97F4A7C15ull >> c->rule_shift];
}

static inline struct rule *rule_at(struct capture *c, uint64_t key) {
	struct rule *r = rule_place(c, key);
	if (unlikely(!rule_is_of(r, key))) {
		rule_get(r, key, false);
	}
	return r;
}

/** Is a library now mapped where `key` had no tables, so that its rule is out of date? */
static inline bool rule_is_stale(const struct rule *r, uint64_t key) {
	return step_kind(r->step) == RULE_JIT && module_covers(rule_lookup_pc(key));
}

// ---- known stacks

static inline struct known_stack *known_place(const struct capture *c, uint64_t path) {
	return &c->known[path >> c->known_shift];
}

static inline bool known_is(const struct known_stack *k, uint64_t path, uint64_t where) {
	return k->path == path && k->where == (uint32_t)where;
}

// ---- comparing with what is remembered

static inline uint32_t frame_checks(const struct frame *f) {
	return f->checks & FRAME_CHECKS;
}

/** The flags that a frame passes on to those it calls. */
static inline uint32_t frame_flags(const struct frame *f) {
	return f->checks & (FRAME_FOLDED | FRAME_TRUNCATED | FRAME_OF_RUNTIME);
}

/** The flags of a new frame, from its rule. */
static inline uint32_t frame_of_rule(uint64_t step) {
	return ((uint32_t)(step >> 4) & FRAME_OF_RUNTIME) | ((uint32_t)(step >> 5) & FRAME_IS_RUNTIMES);
}
_Static_assert((uint32_t)(RULE_OF_RUNTIME >> 4) == FRAME_OF_RUNTIME, "moved, not tested");

static inline bool is_state(const struct frame *f, uint64_t key, uint64_t sp, uint64_t bp) {
	return f->sp == sp && ((f->where ^ key) & RULE_KEY_MASK) == 0 &&
			((f->checks & FRAME_BP_LIVE) == 0 || f->bp == bp);
}

/**
 * The innermost remembered frame, from `f` outwards, that has not returned with the stack at `sp`.
 */
static inline struct frame *not_returned(struct frame *f, uint64_t sp) {
	while (f->sp < sp) {
		f--;
	}
	return f;
}

enum { CHECKS_AT_ONCE = 8 }; // so many that always hold precede the first check

/** All differences of 4 checks in one word; 0 if there are none. */
static inline uint64_t differences(const uint64_t *at, const uint64_t *value) {
	return (walk_load(at[0]) ^ value[0]) | (walk_load(at[1]) ^ value[1]) |
			(walk_load(at[2]) ^ value[2]) | (walk_load(at[3]) ^ value[3]);
}

/** Do the first `n` checks hold? Compared in eights without a remainder: loop counts mispredict. */
INLINE bool all_hold(const uint64_t *at, const uint64_t *value, uint32_t n) {
	for (int64_t i = (int64_t)n - CHECKS_AT_ONCE; i > -CHECKS_AT_ONCE; i -= CHECKS_AT_ONCE) {
		if ((differences(at + i, value + i) | differences(at + i + 4, value + i + 4)) != 0) {
			return false;
		}
	}
	return true;
}

/** The innermost frame that has all its checks among the first `n`. */
struct frame *capture_frame_within(const struct capture *c, uint32_t n);

/**
 * Some checks of the last frame differ: drop the outermost frame with such a check, and all frames
 * inside it. Only if the whole stack may be read.
 */
void capture_drop_changed(struct capture *c);

// ---- new frames, not remembered yet

static inline struct frame *new_frame(struct capture *c, uint32_t i) {
	return &c->frames[c->n_max - 1 - i];
}

/** A signal handler may interrupt this, or jump out: no other path ever finds the node. */
static inline void known_set(struct known_stack *k, uint64_t path, uint64_t where, uint32_t node) {
	k->path = 0;
	atomic_signal_fence(memory_order_seq_cst);
	k->where = (uint32_t)where;
	k->node = node;
	atomic_signal_fence(memory_order_seq_cst);
	k->path = path;
}

/** The result for the leaf `where`, called by the remembered frames. */
struct capture_result capture_result_of(struct capture *c, uint64_t where, uint64_t stop_sp);

// ---- stacks with a runtime's frames, which replace the runtime's own native frames

/**
 * Such a stack's node and flags. False: the runtime's frames do not match, the native ones stay.
 */
bool runtime_stack_node(struct capture *c, uint64_t leaf, uint32_t *node, uint32_t *flags);
