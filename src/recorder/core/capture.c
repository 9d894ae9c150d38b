// SPDX-License-Identifier: MIT

/*
 * Incremental and exact. A step of unwinding is a function of the frame's state (program counter,
 * stack pointer, and frame pointer where some outer step still uses it), of the rules, and of the
 * words it loads. We remember, per frame, its state and the (address, value) pairs that the steps
 * from it to the root have loaded:
 *
 *    root                                                             leaf
 *    frame 0     frame 1     frame 2     ...     frame n-1            (not remembered: one step)
 *    checks 0..c0-1 | ..c1-1 | ..c2-1      |    ..c(n-1)-1
 *
 * When the new unwinding reaches a state equal to frame k's, and checks 0..ck-1 still compare equal
 * in memory, and no rule has changed (generation), a full unwinding would load the same words and
 * find the same frames. So equal slots cannot lie, whatever the program did in between: returned
 * and called again, threw, jumped, switched coroutines. docs/recorder.md has the whole argument.
 *
 * Mismatching checks tell the outermost frame that changed; frames further out stay good, and the
 * unwinding goes on from where it is until it meets one of them.
 *
 * On the thread's own stack all of [sp, end) is readable, so checks may be compared in bulk. On
 * another stack they are compared from the leaf outwards and only as far as they agree: that reads
 * no word that the unwinding itself would not read.
 */

#include "recorder/core/capture.h"

#include "recorder/core/modules.h"
#include "recorder/core/sys.h"
#include "recorder/core/trie.h"
#include "recorder/core/walk.h"
#include "regs.h"

enum {
	N_RULES = 512,
	N_LEAVES = 512,
};

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
		uint64_t rule; // while it is new: packed_rule()
	};
};
_Static_assert(sizeof(struct frame) == 32, "two to a cache line");

struct leaf {
	uint64_t where;
	uint32_t parent, node;
};

struct capture {
	struct window own, foreign;
	uint32_t generation;
	uint32_t n, n_max;
	uint32_t n_checks_max;
	struct frame *frames; // root first. New frames pile up at the other end, leaf outermost
	uint64_t *check_at, *check_value;
	struct rule rules[N_RULES];
	struct leaf leaves[N_LEAVES];
};
_Static_assert(sizeof(struct capture) <= CAPTURE_MIN_BYTES / 2, "leaves room for frames");

struct capture_world world;
_Atomic uint32_t world_generation = 1; // a fresh context has 0
static _Atomic bool is_ready;

/** What there is to know later of the step from a new frame: bp | cfa << 32 | kind << 60. */
static inline uint64_t packed_rule(const struct rule *rule) {
	return (uint32_t)rule->bp | (uint64_t)(uint32_t)rule->cfa << 32 << 4 >> 4 |
			(uint64_t)rule->kind << 60;
}

static inline enum rule_kind packed_kind(uint64_t packed) {
	return (enum rule_kind)(packed >> 60);
}

static inline int32_t packed_bp(uint64_t packed) {
	return (int32_t)(uint32_t)packed;
}

static inline int64_t packed_cfa(uint64_t packed) { // of 28 bits: enough for RULE_DEREF
	return (int64_t)(packed << 4) >> 36;
}

/** What one capture does beside the context's memory of the last one. */
struct unwinding {
	struct walk walk;
	uint32_t n_new;      // frames piled up
	uint32_t n_verified; // remembered frames whose checks have been compared
	bool is_cut;         // the outermost new frame has callers that cannot be found
};

bool capture_setup(const struct capture_world *w) {
	world = *w;
	if (!modules_setup() || !rules_setup() || !trie_setup()) {
		return false;
	}
	atomic_store_explicit(&is_ready, true, memory_order_release); // pairs with begin_generation
	atomic_fetch_add_explicit(&world_generation, 1, memory_order_release);
	return true;
}

struct capture *capture_init(void *memory, size_t bytes, uint64_t stack_low, uint64_t stack_high) {
	enum { BYTES_PER_FRAME = sizeof(struct frame) + 2 * 2 * sizeof(uint64_t) };
	struct capture *c = memory;
	if (bytes < CAPTURE_MIN_BYTES) {
		return NULL;
	}
	size_t n = (bytes - sizeof(*c)) / BYTES_PER_FRAME;
	c->own = (struct window){stack_low != 0 ? stack_low : stack_high, stack_high};
	c->n_max = n < UINT32_MAX / 4 ? (uint32_t)n : UINT32_MAX / 4;
	c->n_checks_max = 2 * c->n_max;
	c->frames = (struct frame *)(c + 1);
	c->check_at = (uint64_t *)(c->frames + c->n_max);
	c->check_value = c->check_at + c->n_checks_max;
	return c;
}

void capture_forget(struct capture *c) {
	c->n = 0;
}

void capture_modules_changed(void) {
	if (atomic_load_explicit(&is_ready, memory_order_acquire)) {
		modules_check();
	}
}

// ---- rules, with a cache of our own in front

static unsigned rule_place(uint64_t key) {
	return (unsigned)(key * 0x9E3779B97F4A7C15ull >> 55);
}
_Static_assert(N_RULES == 1 << (64 - 55), "rule_place yields 9 bits");

static __attribute__((noinline, cold)) void rule_fetch(struct rule *r, uint64_t key,
		bool is_stale) {
	rule_get(r, key, is_stale);
}

static inline struct rule *rule_at(struct capture *c, uint64_t key) {
	struct rule *r = &c->rules[rule_place(key)];
	if (r->key != key) {
		rule_fetch(r, key, false);
	}
	return r;
}

/** The rule of a caller: most often the same as last time. */
static inline struct rule *caller_rule(struct capture *c, struct rule *callee, uint64_t key) {
	struct rule *r = &c->rules[callee->hot];
	if (r->key != key) {
		r = rule_at(c, key);
		callee->hot = (uint16_t)(r - c->rules);
	}
	if (r->kind == RULE_JIT && module_covers(rule_lookup_pc(key))) {
		rule_fetch(r, key, true); // a library came where generated code was
	}
	return r;
}

// ---- comparing with what is remembered

static inline uint32_t frame_checks(const struct frame *f) {
	return f->checks & FRAME_CHECKS;
}

static inline bool is_state(const struct frame *f, uint64_t key, uint64_t sp, uint64_t bp) {
	return f->sp == sp && ((f->where ^ key) & RULE_KEY_MASK) == 0 &&
			((f->checks & FRAME_BP_LIVE) == 0 || f->bp == bp);
}

/** Drop the frames that have returned: a caller now stands at `sp`. */
static inline void drop_returned(struct capture *c, uint64_t sp) {
	while (c->n > 0 && c->frames[c->n - 1].sp < sp) {
		c->n--;
	}
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
	uint64_t end = differences(last, value + n - 4);
	for (; at + 4 < last; at += 8, value += 8) {
		if ((differences(at, value) | differences(at + 4, value + 4)) != 0) {
			return false;
		}
	}
	return (end | (at < last ? differences(at, value) : 0)) == 0;
}

/** The first (outermost) of `n` checks that differs; `n`: none does. */
static uint32_t first_difference(const struct capture *c, uint32_t n) {
	uint32_t i = 0;
	while (i < n && walk_load(c->check_at[i]) == c->check_value[i]) {
		i++;
	}
	return i;
}

/** The last (innermost) of `n` checks that differs; `n`: none does. Stops there. */
static uint32_t last_difference(struct capture *c, struct walk *w, uint32_t n) {
	for (uint32_t i = n; i-- > 0;) {
		if (!walk_may_load(w, c->check_at[i]) || walk_load(c->check_at[i]) != c->check_value[i]) {
			return i;
		}
	}
	return n;
}

/** How many frames have all their checks among the first `n`. */
static uint32_t frames_within(const struct capture *c, uint32_t n) {
	uint32_t low = 0;
	uint32_t high = c->n;
	while (low < high) {
		uint32_t middle = low + (high - low) / 2;
		if (frame_checks(&c->frames[middle]) <= n) {
			low = middle + 1;
		} else {
			high = middle;
		}
	}
	return low;
}

/** Has the unwinding met a remembered frame that still holds? If so it is the last one left. */
static inline bool is_met(struct capture *c, struct unwinding *u) {
	struct walk *w = &u->walk;
	drop_returned(c, w->sp);
	if (c->n == 0 || !is_state(&c->frames[c->n - 1], w->key, w->sp, w->bp)) {
		return false;
	}
	if (c->n <= u->n_verified) {
		return true;
	}
	uint32_t n = frame_checks(&c->frames[c->n - 1]);
	uint32_t at = w->is_foreign                        ? last_difference(c, w, n)
			: all_hold(c->check_at, c->check_value, n) ? n
													   : first_difference(c, n);
	if (at == n) {
		return true;
	}
	c->n = frames_within(c, at);
	u->n_verified = w->is_foreign ? 0 : c->n;
	return false;
}

// ---- new frames

static struct frame *new_frame(struct capture *c, uint32_t i) {
	return &c->frames[c->n_max - 1 - i];
}

/** Room for one more new frame, the mark, and all that is remembered (or none of it). */
static bool make_room(struct capture *c, const struct unwinding *u) {
	if (c->n + u->n_new + 2 > c->n_max) {
		c->n = 0;
	}
	return u->n_new + 2 <= c->n_max;
}

/** Unwind to the root, or to a remembered frame; `rule` is the leaf's. */
static void find_callers(struct capture *c, struct unwinding *u, struct rule *rule) {
	struct walk *w = &u->walk;
	enum walk_step step = walk_step_inline(w, rule);
	while (step == WALK_CALLER) {
		if (is_met(c, u)) {
			return;
		}
		if (!make_room(c, u)) {
			step = WALK_CUT;
			w->is_odd = true;
			break;
		}
		rule = caller_rule(c, rule, w->key);
		struct frame *f = new_frame(c, u->n_new++);
		f->where = rule->where;
		f->sp = w->sp;
		f->bp = w->bp;
		f->rule = packed_rule(rule);
		step = walk_step_inline(w, rule);
	}
	c->n = 0;
	u->is_cut = step == WALK_CUT;
}

/** Checks being appended for one frame. */
struct checks {
	uint64_t *at, *value;
	uint32_t n, n_max;
	bool is_full;
};

static inline void check_add(struct checks *k, uint64_t at, uint64_t value) {
	if (k->n == k->n_max) {
		k->is_full = true;
		return;
	}
	k->at[k->n] = at;
	k->value[k->n] = value;
	k->n++;
}

/** What the step from `f` to `outer` has loaded. */
static inline void checks_of_step(struct checks *k, const struct frame *f,
		const struct frame *outer) {
	bool is_bp_live = (outer->checks & FRAME_BP_LIVE) != 0;
	uint64_t pc = wire_where_pc(outer->where);
	int32_t bp = packed_bp(f->rule);
	if (packed_kind(f->rule) == RULE_SIGNAL) {
		check_add(k, f->sp + SIGNAL_FRAME_PC, pc);
		check_add(k, f->sp + SIGNAL_FRAME_SP, outer->sp);
		if (is_bp_live) {
			check_add(k, f->sp + SIGNAL_FRAME_BP, outer->bp);
		}
		return;
	}
	bool is_deref = packed_kind(f->rule) == RULE_DEREF;
	check_add(k, outer->sp - 8, pc);
	if (is_deref) {
		check_add(k, f->bp + (uint64_t)packed_cfa(f->rule), outer->sp);
	}
	if (is_bp_live && bp != RULE_BP_SAME) {
		uint64_t base = is_deref ? f->bp : outer->sp;
		check_add(k, base + (uint64_t)(int64_t)bp, outer->bp);
	}
}

static inline bool is_bp_live(const struct frame *f, const struct frame *outer) {
	switch (packed_kind(f->rule)) {
	case RULE_SP:
		return packed_bp(f->rule) == RULE_BP_SAME && outer != NULL &&
				(outer->checks & FRAME_BP_LIVE) != 0;
	case RULE_BP:
	case RULE_DEREF:
	case RULE_FRAME:
	case RULE_JIT: return true;
	default: return false;
	}
}

/** The flags that go inwards from `outer`, and in `*node` the node of `where` below it. */
static inline uint32_t place(const struct frame *outer, uint64_t where, uint32_t *node) {
	uint32_t flags = outer != NULL ? outer->checks & (FRAME_FOLDED | FRAME_TRUNCATED) : 0;
	uint32_t parent = outer != NULL ? outer->node : 0;
	*node = (flags & FRAME_FOLDED) == 0 ? trie_child(parent, where) : 0;
	if (*node == 0) {
		*node = parent;
		flags = FRAME_FOLDED | FRAME_TRUNCATED;
	}
	return flags;
}

/** Remember new frame `i`; the frames outside of it have been. */
static inline void push(struct capture *c, struct unwinding *u, uint32_t i) {
	const struct frame f = *new_frame(c, i);
	const struct frame *outer = c->n > 0 ? &c->frames[c->n - 1] : NULL;
	bool is_outermost = outer == NULL || outer->where == WIRE_PC_TRUNCATED;
	struct checks k = {c->check_at, c->check_value, outer != NULL ? frame_checks(outer) : 0,
			c->n_checks_max, false};
	if (!is_outermost) {
		checks_of_step(&k, &f, outer);
	}
	for (unsigned t = 0; is_outermost && t < u->walk.n_tail; t++) {
		check_add(&k, u->walk.tail_at[t], u->walk.tail_value[t]);
	}
	uint32_t node;
	uint32_t flags = place(outer, f.where, &node);
	flags |= is_bp_live(&f, is_outermost ? NULL : outer) ? FRAME_BP_LIVE : 0;
	u->walk.is_odd |= k.is_full;
	struct frame *to = &c->frames[c->n++];
	to->where = f.where;
	to->sp = f.sp;
	to->bp = f.bp;
	to->node = node;
	to->checks = flags | k.n;
}

/** Remember the mark that stands for callers that could not be found. */
static void push_mark(struct capture *c) {
	struct frame *f = &c->frames[c->n++];
	f->where = WIRE_PC_TRUNCATED;
	f->sp = UINT64_MAX;
	f->bp = 0;
	f->checks = place(NULL, WIRE_PC_TRUNCATED, &f->node) | FRAME_TRUNCATED;
}

// ---- results

static inline struct leaf *leaf_at(struct capture *c, uint32_t parent, uint64_t where) {
	uint64_t hash = (where ^ (uint64_t)parent << 20) * 0x9E3779B97F4A7C15ull;
	return &c->leaves[hash >> 55];
}
_Static_assert(N_LEAVES == 1 << (64 - 55), "leaf_at hashes to 9 bits");

static uint32_t leaf_node(struct capture *c, uint32_t parent, uint64_t where) {
	struct leaf *leaf = leaf_at(c, parent, where);
	if (leaf->where != where || leaf->parent != parent) {
		uint32_t node = trie_child(parent, where);
		if (node == 0) {
			return 0;
		}
		*leaf = (struct leaf){where, parent, node};
	}
	return leaf->node;
}

/** Does a signal frame lie between the leaf and the frame at `stop_sp`? */
static bool has_crossed_signal(const struct capture *c, uint64_t stop_sp) {
	for (uint32_t i = c->n; i-- > 0;) {
		if ((c->frames[i].where & WIRE_EXACT_PC) != 0) {
			return true;
		}
		if (c->frames[i].sp == stop_sp) {
			return false;
		}
	}
	return false;
}

/** The result, the leaf's callers being what is remembered now. */
static __attribute__((noinline)) struct capture_result result_of(struct capture *c, uint64_t where,
		uint64_t stop_sp) {
	const struct frame *top = c->n > 0 ? &c->frames[c->n - 1] : NULL;
	uint32_t parent = top != NULL ? top->node : 0;
	uint32_t flags = top != NULL ? top->checks : 0;
	uint32_t node = (flags & FRAME_FOLDED) == 0 ? leaf_node(c, parent, where) : 0;
	return (struct capture_result){
			.node = node != 0 ? node : parent,
			.is_truncated = node == 0 || (flags & FRAME_TRUNCATED) != 0,
			.crossed_signal = stop_sp != 0 && has_crossed_signal(c, stop_sp),
	};
}

static __attribute__((noinline)) struct capture_result capture_changed(struct capture *c,
		const struct capture_regs *regs, uint64_t stop_sp) {
	struct unwinding u;
	u.n_new = 0;
	u.n_verified = 0;
	u.is_cut = false;
	struct rule *leaf = rule_at(c, regs->pc);
	if (leaf->kind == RULE_JIT && module_covers(rule_lookup_pc(regs->pc))) {
		rule_fetch(leaf, regs->pc, true);
	}
	uint64_t where = leaf->where;
	if (walk_begin(&u.walk, regs, &c->own, &c->foreign)) {
		find_callers(c, &u, leaf);
	} else {
		c->n = 0;
		u.is_cut = true;
	}
	uint32_t n_met = c->n;
	if (u.is_cut) {
		push_mark(c);
	}
	for (uint32_t i = u.n_new; i-- > 0;) {
		push(c, &u, i);
	}
	struct capture_result result = result_of(c, where, stop_sp);
	if (u.walk.is_odd) {
		c->n = n_met; // what was met holds; the rest depends on more than we can check
	}
	return result;
}

/** Rules have changed since the last capture, or this is the first one. */
static __attribute__((noinline, cold)) struct capture_result capture_first(struct capture *c,
		const struct capture_regs *regs, uint64_t stop_sp) {
	if (!atomic_load_explicit(&is_ready, memory_order_acquire)) {
		return (struct capture_result){.is_truncated = true};
	}
	c->generation = atomic_load_explicit(&world_generation, memory_order_acquire);
	c->n = 0;
	sys_fill(c->rules, 0, sizeof(c->rules));
	return capture_changed(c, regs, stop_sp);
}

/**
 * The usual case, in which the leaf's caller and all beyond it are as they were. It calls nothing
 * but, at its end, one of the others: so it has no registers to save.
 */
struct capture_result capture_stack(struct capture *c, const struct capture_regs *regs,
		uint64_t stop_sp) {
	if (c->generation != atomic_load_explicit(&world_generation, memory_order_acquire)) {
		return capture_first(c, regs, stop_sp);
	}
	const uint64_t sp = regs->sp;
	const struct rule *leaf = &c->rules[rule_place(regs->pc)];
	uint64_t cfa = (leaf->kind == RULE_SP ? sp : regs->bp) + (uint64_t)(int64_t)leaf->cfa;
	if (leaf->key != regs->pc || leaf->kind - RULE_SP > RULE_BP - RULE_SP || sp < c->own.low ||
			cfa < sp + 8 || cfa > c->own.high) {
		return capture_changed(c, regs, stop_sp);
	}
	uint64_t bp = regs->bp;
	if (leaf->bp != RULE_BP_SAME) {
		uint64_t slot = cfa + (uint64_t)(int64_t)leaf->bp;
		if (!window_has(&c->own, slot)) {
			return capture_changed(c, regs, stop_sp);
		}
		bp = walk_load(slot);
	}
	drop_returned(c, cfa);
	const struct frame *top = &c->frames[c->n - 1];
	if (c->n == 0 || !is_state(top, walk_load(cfa - 8), cfa, bp) ||
			!all_hold(c->check_at, c->check_value, frame_checks(top))) {
		return capture_changed(c, regs, stop_sp);
	}
	const struct leaf *hot = leaf_at(c, top->node, leaf->where);
	if (hot->where != leaf->where || hot->parent != top->node || stop_sp != 0 ||
			(top->checks & (FRAME_FOLDED | FRAME_TRUNCATED)) != 0) {
		return result_of(c, leaf->where, stop_sp);
	}
	return (struct capture_result){.node = hot->node};
}
