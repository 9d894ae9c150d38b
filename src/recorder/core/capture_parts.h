// SPDX-License-Identifier: MIT
#pragma once

/**
 * What the ways of a capture share: a context's memory of its last stack, and its small caches of
 * rules and of nodes. capture.c explains the idea; it has the usual ways, capture_full.c the one
 * that knows all cases.
 */

#include "recorder/core/capture.h"
#include "recorder/core/modules.h"
#include "recorder/core/trie.h"
#include "recorder/core/walk.h"

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
		struct {
			uint32_t node, checks;
		};
		uint64_t rule; // while it is new: rule.step
	};
};
_Static_assert(sizeof(struct frame) == 32, "two to a cache line");

/** A node that was asked for lately. */
struct child {
	uint64_t where;
	uint32_t parent, node;
};

struct capture {
	struct window own, foreign;
	uint32_t generation;
	uint32_t n_max;
	uint32_t n_checks_max;
	uint8_t rule_shift, child_shift; // of a hash, so that it fits the caches
	uint64_t leaf;                   // the `where` of the frame that is captured
	// Root first; behind `last`, new frames pile up at the other end. The first one is none, but
	// the end of all searches: its stack pointer is as high as can be
	struct frame *frames, *last;
	uint64_t *check_at, *check_value;
	struct rule *rules;
	struct child *children;
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

static inline struct child *child_place(const struct capture *c, uint32_t parent, uint64_t where) {
	uint64_t hash = (where ^ (uint64_t)parent << 20) * 0x9E3779B97F4A7C15ull;
	return &c->children[hash >> c->child_shift];
}

/** trie_child, by way of the cache. */
static inline uint32_t child_node(struct capture *c, uint32_t parent, uint64_t where) {
	struct child *child = child_place(c, parent, where);
	if (__builtin_expect(child->where != where || child->parent != parent, 0)) {
		uint32_t node = trie_child(parent, where);
		if (node == 0) {
			return 0;
		}
		*child = (struct child){where, parent, node};
	}
	return child->node;
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

/** All differences of 4 checks in one word: zero if there are none. */
static inline uint64_t differences(const uint64_t *at, const uint64_t *value) {
	return (walk_load(at[0]) ^ value[0]) | (walk_load(at[1]) ^ value[1]) |
			(walk_load(at[2]) ^ value[2]) | (walk_load(at[3]) ^ value[3]);
}

/** Do the first `n` checks hold? The last block overlaps its predecessor: no remainder to count. */
static inline __attribute__((always_inline)) bool all_hold(const uint64_t *at,
		const uint64_t *value, uint32_t n) {
	if (n < 4) {
		uint32_t i = 0;
		while (i < n && walk_load(at[i]) == value[i]) {
			i++;
		}
		return i == n;
	}
	const uint64_t *last = at + n - 4;
	const uint64_t *last_value = value + n - 4;
	for (; at < last; at += 4, value += 4) {
		if (differences(at, value) != 0) {
			return false;
		}
	}
	return differences(last, last_value) == 0;
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
