// SPDX-License-Identifier: MIT
/*
 * Incremental and exact capture, which unwinds only what has changed since the last one.
 *
 * A step of unwinding is a function of the frame's state (program counter, stack pointer, and frame
 * pointer if some outer step still uses it), of the rules, and of the words that it loads. A
 * context remembers, per frame, its state and the (address, value) pairs, called checks, that the
 * steps from it to the root have loaded:
 *
 *    root                                                             leaf
 *    frame 0     frame 1     frame 2     ...     frame n-1            (not remembered: one step)
 *    checks 0..c0-1 | ..c1-1 | ..c2-1      |    ..c(n-1)-1
 *
 * When a new unwinding reaches a state equal to frame k's, checks 0..ck-1 still compare equal in
 * memory, and no rule has changed (generation), a full unwinding would load the same words and find
 * the same frames, whatever the program did in between: returned and called again, threw, jumped,
 * switched coroutines. docs/recorder.md has the full argument.
 *
 * A check that differs shows the outermost frame that changed. Frames further out still hold, and
 * unwinding goes on until it meets one of them.
 *
 * There are three ways, each falling back to the next:
 *   capture_stack    the leaf's caller is unchanged: compares, and changes nothing
 *   capture_near     some inner frames are new, with plain rules and on the thread's own stack
 *   capture_in_full  all cases (full.c)
 */
#include "recorder/core/capture/capture.h"

#include "recorder/core/capture/context.h"

enum { NEAR_MAX = 48 }; // frames that capture_near handles

static _Atomic bool is_ready;

bool capture_setup(void) {
	if (!modules_setup() || !rules_setup() || !trie_setup()) {
		return false;
	}
	atomic_store_explicit(&is_ready, true, memory_order_release); // pairs with capture_first
	atomic_fetch_add_explicit(&code_generation, 1, memory_order_release);
	return true;
}

void capture_modules_changed(void) {
	if (atomic_load_explicit(&is_ready, memory_order_acquire)) {
		modules_check();
	}
}

// ---- some inner frames are new

/** The last remembered frame, as the next one inside it needs it. */
struct outer {
	uint64_t pc, sp, bp, path;
	uint32_t checks; // as in struct frame
};

INLINE void push_check(struct capture *c, struct outer *o, uint64_t at, uint64_t value) {
	uint32_t n = o->checks++ & FRAME_CHECKS;
	c->check_at[n] = at;
	c->check_value[n] = value;
}

/** Remember at `to` the frame `f`, which `o` called; `f` then is the outer frame of the next. */
INLINE void push_near(struct capture *c, struct outer *o, const struct frame *f, struct frame *to) {
	int32_t bp = step_bp(f->rule);
	push_check(c, o, o->sp - 8, o->pc);
	if (bp != RULE_BP_SAME && (o->checks & FRAME_BP_LIVE) != 0) {
		push_check(c, o, o->sp + (uint64_t)(int64_t)bp, o->bp);
		o->checks &= ~FRAME_BP_LIVE;
	}
	if (step_kind(f->rule) != RULE_SP) {
		o->checks |= FRAME_BP_LIVE;
	}
	o->checks = (o->checks & ~(uint32_t)FRAME_IS_RUNTIMES) | frame_of_rule(f->rule);
	o->path = path_step(o->path, f->where);
	o->pc = wire_where_pc(f->where);
	o->sp = f->sp;
	o->bp = f->bp;
	to->where = f->where;
	to->sp = f->sp;
	to->bp = f->bp;
	to->path = o->path;
	to->node = 0;
	to->checks = o->checks;
}

/** Remember `n` new frames inside those that hold. Returns the last one's path. */
INLINE uint64_t remember_near(struct capture *c, uint32_t n) {
	struct frame *to = c->last;
	struct outer o = {wire_where_pc(to->where), to->sp, to->bp, to->path, to->checks};
	const struct frame *end = &c->frames[c->n_max];
	for (const struct frame *f = end - n; f < end; f++) {
		push_near(c, &o, f, ++to);
	}
	c->last = to;
	return o.path;
}

/** Room for new frames. Each needs two places: while it is new, and when it is remembered. */
static inline uint32_t room_near(const struct capture *c) {
	uint32_t n = c->n_max - (uint32_t)(c->last - c->frames) - 1;
	uint32_t n_checks = c->n_checks_max - frame_checks(c->last);
	n = n < n_checks ? n : n_checks;
	return n < 2 * NEAR_MAX ? n / 2 : NEAR_MAX;
}

/** May the step from `rule` use the frame pointer? */
static OUTLINE bool is_plain_frame(const struct rule *rule, uint64_t sp, uint64_t bp) {
	enum rule_kind kind = step_kind(rule->step);
	return (kind == RULE_FRAME || kind == RULE_JIT) && bp >= sp && bp % 8 == 0 &&
			!rule_is_stale(rule, rule->where & RULE_KEY_MASK);
}

/** Where a walk is: the program counter, and the registers that steps use. */
struct state {
	uint64_t pc, sp, bp;
};

/** A step by a plain rule on the thread's own stack. False: it is not one. */
INLINE bool step_near(const struct capture *c, const struct rule *rule, struct state *s) {
	const uint64_t step = rule->step;
	uint64_t cfa = (step_kind(step) == RULE_SP ? s->sp : s->bp) + (uint64_t)step_cfa(step);
	if (unlikely(step_kind(step) > RULE_BP) && !is_plain_frame(rule, s->sp, s->bp)) {
		return false;
	}
	if (cfa < s->sp + 8 || cfa > c->own.high) {
		return false;
	}
	if (step_bp(step) != RULE_BP_SAME) {
		uint64_t slot = cfa + (uint64_t)(int64_t)step_bp(step);
		if (slot < c->own.low || slot > c->own.high - 8) {
			return false;
		}
		s->bp = walk_load(slot);
	}
	s->pc = walk_load(cfa - 8);
	s->sp = cfa;
	return true;
}

/**
 * Unwind by plain rules from the leaf's caller to a remembered frame that holds, which becomes the
 * last one. Returns the number of new frames, or -1 if this way does not apply.
 */
INLINE int unwind_near(struct capture *c, struct state s, uint32_t n_most) {
	const struct frame *verified = c->frames;
	struct frame *last = c->last;
	struct frame *fresh = &c->frames[c->n_max];
	for (uint32_t n = 0; walk_is_pc(s.pc); n++) {
		if (s.sp >= last->sp) { // else the frame is inside all remembered ones
			last = not_returned(last, s.sp);
			if (is_state(last, s.pc, s.sp, s.bp)) {
				c->last = last;
				if (last <= verified || all_hold(c->check_at, c->check_value, frame_checks(last))) {
					return (int)n;
				}
				capture_drop_changed(c);
				verified = last = c->last;
			}
		}
		if (n == n_most) {
			break;
		}
		const struct rule *rule = rule_at(c, s.pc);
		fresh--;
		fresh->where = rule->where;
		fresh->sp = s.sp;
		fresh->bp = s.bp;
		fresh->rule = rule->step;
		if (!step_near(c, rule, &s)) {
			break;
		}
	}
	return -1;
}

/**
 * The stack of `regs`, with its leaf in c->leaf. pc, sp and bp are the state of the leaf's caller.
 */
static OUTLINE struct capture_result capture_near(struct capture *c,
		const struct capture_regs *regs, uint64_t stop_sp, uint64_t pc, uint64_t sp, uint64_t bp) {
	int n = unwind_near(c, (struct state){pc, sp, bp}, room_near(c));
	if (n < 0 || (c->last->checks & (FRAME_FOLDED | FRAME_TRUNCATED)) != 0) {
		return capture_in_full(c, regs, stop_sp);
	}
	uint64_t path = path_step(remember_near(c, (uint32_t)n), c->leaf);
	const struct known_stack *known = known_place(c, path);
	if (!known_is(known, path, c->leaf) || stop_sp != 0) {
		return capture_result_of(c, c->leaf, stop_sp);
	}
	return (struct capture_result){.node = known->node};
}

/** The same for a leaf to which capture_stack does not apply. */
static OUTLINE struct capture_result capture_leaf(struct capture *c,
		const struct capture_regs *regs, uint64_t stop_sp) {
	struct state s = {regs->pc, regs->sp, regs->bp};
	if (s.sp < c->own.low || s.sp >= c->own.high) {
		return capture_in_full(c, regs, stop_sp);
	}
	const struct rule *leaf = rule_at(c, s.pc);
	c->leaf = leaf->where;
	return step_near(c, leaf, &s) ? capture_near(c, regs, stop_sp, s.pc, s.sp, s.bp)
								  : capture_in_full(c, regs, stop_sp);
}

// ---- only the leaf is new

/** The first capture, or the first after rules became invalid. */
static COLD struct capture_result capture_first(struct capture *c, const struct capture_regs *regs,
		uint64_t stop_sp) {
	if (!atomic_load_explicit(&is_ready, memory_order_acquire)) {
		return (struct capture_result){.is_truncated = true};
	}
	uint32_t generation = atomic_load_explicit(&code_generation, memory_order_acquire);
	c->last = c->frames;
	sys_fill(c->rules, 0, sizeof(*c->rules) << (64 - c->rule_shift));
	if (atomic_load(&runtimes_n) > 0) { // what is known may predate them
		sys_fill(c->known, 0, sizeof(*c->known) << (64 - c->known_shift));
	}
	atomic_signal_fence(memory_order_seq_cst);
	c->generation = generation;
	return capture_in_full(c, regs, stop_sp);
}

/**
 * The most frequent case: the leaf's caller and all frames beyond it are unchanged. It calls the
 * others only at its end, and so has no registers to save.
 */
struct capture_result capture_stack(struct capture *c, const struct capture_regs *regs,
		uint64_t stop_sp) {
	if (unlikely(c->generation != atomic_load_explicit(&code_generation, memory_order_acquire))) {
		return capture_first(c, regs, stop_sp);
	}
	const uint64_t sp = regs->sp;
	const struct rule *leaf = rule_place(c, regs->pc);
	const uint64_t step = leaf->step;
	uint64_t cfa = (step_kind(step) == RULE_SP ? sp : regs->bp) + (uint64_t)step_cfa(step);
	if (!rule_is_of(leaf, regs->pc) || step_kind(step) > RULE_BP || sp < c->own.low ||
			cfa < sp + 8 || cfa > c->own.high) {
		return capture_leaf(c, regs, stop_sp);
	}
	uint64_t bp = regs->bp;
	if (step_bp(step) != RULE_BP_SAME) {
		uint64_t slot = cfa + (uint64_t)(int64_t)step_bp(step);
		if (!window_has(&c->own, slot)) {
			return capture_leaf(c, regs, stop_sp);
		}
		bp = walk_load(slot);
	}
	const struct frame *top = c->last = not_returned(c->last, cfa);
	uint64_t pc = walk_load(cfa - 8);
	if (!is_state(top, pc, cfa, bp) || !all_hold(c->check_at, c->check_value, frame_checks(top))) {
		c->leaf = leaf->where;
		return capture_near(c, regs, stop_sp, pc, cfa, bp);
	}
	uint64_t path = path_step(top->path, leaf->where);
	const struct known_stack *known = known_place(c, path);
	if (!known_is(known, path, leaf->where) || stop_sp != 0 ||
			(top->checks & (FRAME_FOLDED | FRAME_TRUNCATED)) != 0) {
		return capture_result_of(c, leaf->where, stop_sp);
	}
	return (struct capture_result){.node = known->node};
}
