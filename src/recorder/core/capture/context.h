// SPDX-License-Identifier: MIT
#pragma once

/**
 * What the ways of a capture share: a context's memory of its last stack, and its small caches of
 * rules and of nodes. capture.c explains the idea; it has the usual ways, full.c the one
 * that knows all cases.
 */

#include "recorder/core/capture/capture.h"
#include "recorder/core/capture/trie.h"
#include "recorder/core/unwind/modules.h"
#include "recorder/core/unwind/walk.h"

// struct frame.checks: how many checks there are from the root to this frame, and flags
enum {
	FRAME_CHECKS = (1u << 29) - 1,
	FRAME_FOLDED = 1u << 29,    // the node is that of an ancestor: no room for more
	FRAME_TRUNCATED = 1u << 30, // the root is missing, or folded
};
#define FRAME_BP_LIVE (1u << 31) // a step from here outwards uses the frame pointer

struct frame {
	uint64_t where, sp, bp;
	union {
		uint64_t path; // path_step
		uint64_t rule; // while it is new: rule.step
	};
	uint32_t node; // 0: not asked for yet (or FRAME_FOLDED into none)
	uint32_t checks;
};

/** The node of a stack that was met lately: by its path, and the low half of its leaf's `where`. */
struct known_stack {
	uint64_t path;
	uint32_t where, node;
};

struct capture {
	struct window own, foreign;
	uint32_t generation;
	uint32_t n_max;
	uint32_t n_checks_max;
	uint8_t rule_shift, known_shift; // of a hash, so that it fits the caches
	uint64_t leaf;                   // the `where` of the frame that is captured
	// Root first; behind `last`, new frames pile up at the other end. The first one is none, but
	// the end of all searches: its stack pointer is as high as can be
	struct frame *frames, *last;
	uint64_t *check_at, *check_value;
	struct rule *rules;
	struct known_stack *known;
};

/**
 * The general way: unwinds to the root or to a frame that holds, whatever lies between. Used where
 * the usual ways do not apply.
 */
struct capture_result capture_in_full(struct capture *c, const struct capture_regs *regs,
		uint64_t stop_sp);

// ---- the caches

/** Another rule than that of `key` is at its place, or an old one. */
void capture_fetch_rule(struct rule *r, uint64_t key, bool is_stale);

static inline struct rule *rule_place(const struct capture *c, uint64_t key) {
	return &c->rules[key * 0x9E3779B97F4A7C15ull >> c->rule_shift];
}

static inline struct rule *rule_at(struct capture *c, uint64_t key) {
	struct rule *r = rule_place(c, key);
	if (__builtin_expect(!rule_is_of(r, key), 0)) {
		capture_fetch_rule(r, key, false);
	}
	return r;
}

/** Is a library now where `key` has had no tables? Then its rule is out of date. */
static inline bool rule_is_stale(const struct rule *r, uint64_t key) {
	return step_kind(r->step) == RULE_JIT && module_covers(rule_lookup_pc(key));
}

// ---- paths

/**
 * A path stands for all frames from the root to one: their `where`s, mixed to 64 bits. So the node of
 * a stack is found at once, and those of the frames in between are asked for only if it is new. Two
 * stacks of one leaf would be taken for each other if their paths were equal by chance: of a million
 * such stacks, in one of 4 * 10^7 programs. `outer`: the caller's path, 0 at the root. The product
 * with the golden ratio keeps apart what differs by little, the shift brings it to the low half.
 */
static inline uint64_t path_step(uint64_t outer, uint64_t where) {
	uint64_t h = (outer ^ where) * 0x9E3779B97F4A7C15ull;
	return h ^ h >> 32;
}

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

static inline bool is_state(const struct frame *f, uint64_t key, uint64_t sp, uint64_t bp) {
	return f->sp == sp && ((f->where ^ key) & RULE_KEY_MASK) == 0 &&
			((f->checks & FRAME_BP_LIVE) == 0 || f->bp == bp);
}

/** The last of the remembered frames from `f` outwards that have not returned: one is at `sp`. */
static inline struct frame *not_returned(struct frame *f, uint64_t sp) {
	while (f->sp < sp) {
		f--;
	}
	return f;
}

static inline bool is_empty(const struct capture *c) {
	return c->last == c->frames;
}

enum { CHECKS_AT_ONCE = 8 }; // so many that always hold stand before the first one

/** All differences of 4 checks in one word: zero if there are none. */
static inline uint64_t differences(const uint64_t *at, const uint64_t *value) {
	return (walk_load(at[0]) ^ value[0]) | (walk_load(at[1]) ^ value[1]) |
			(walk_load(at[2]) ^ value[2]) | (walk_load(at[3]) ^ value[3]);
}

/**
 * Do the first `n` checks hold? Many at once, and no remainder: how often a loop goes round is what
 * a processor guesses wrong.
 */
static inline __attribute__((always_inline)) bool all_hold(const uint64_t *at,
		const uint64_t *value, uint32_t n) {
	for (int64_t i = (int64_t)n - CHECKS_AT_ONCE; i > -CHECKS_AT_ONCE; i -= CHECKS_AT_ONCE) {
		if ((differences(at + i, value + i) | differences(at + i + 4, value + i + 4)) != 0) {
			return false;
		}
	}
	return true;
}

/**
 * Among the checks of the last frame, of which some differ: drop the outermost frame with one that
 * does and all within. Only where all of the stack may be read.
 */
void capture_drop_changed(struct capture *c);

// ---- new frames, until they are remembered

static inline struct frame *new_frame(struct capture *c, uint32_t i) {
	return &c->frames[c->n_max - 1 - i];
}

/** The result, the leaf's callers being what is remembered now. */
struct capture_result capture_result_of(struct capture *c, uint64_t where, uint64_t stop_sp);
