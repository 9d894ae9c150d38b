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
 * There are three ways, each handing over to the next where it does not apply:
 *   capture_stack    the leaf's caller is as it was; compares, and changes nothing
 *   capture_near     some inner frames are new, all of them plain ones on the thread's own stack
 *   capture_in_full  anything (capture_full.c)
 */

#include "recorder/core/capture.h"

#include "recorder/core/capture_parts.h"
#include "recorder/core/sys.h"

enum {
	RULE_BITS = 11, // of the caches of a busy thread
	CHILD_BITS = 11,
	SMALL_BITS = 5, // and of one with little memory
	NEAR_MAX = 48,  // frames that capture_near takes on
};

struct capture_world world;
_Atomic uint32_t world_generation = 1; // a fresh context has 0
static _Atomic bool is_ready;

bool capture_setup(const struct capture_world *w) {
	world = *w;
	if (!modules_setup() || !rules_setup() || !trie_setup()) {
		return false;
	}
	atomic_store_explicit(&is_ready, true, memory_order_release); // pairs with capture_first
	atomic_fetch_add_explicit(&world_generation, 1, memory_order_release);
	return true;
}

struct capture *capture_init(void *memory, size_t bytes, uint64_t stack_low, uint64_t stack_high) {
	enum { BYTES_PER_FRAME = sizeof(struct frame) + 2 * 2 * sizeof(uint64_t) };
	if (bytes < CAPTURE_SMALL_BYTES) {
		return NULL;
	}
	bool is_small = bytes < CAPTURE_BUSY_BYTES;
	unsigned rule_bits = is_small ? SMALL_BITS : RULE_BITS;
	unsigned child_bits = is_small ? SMALL_BITS : CHILD_BITS;
	struct capture *c = memory;
	c->own = (struct window){stack_low != 0 ? stack_low : stack_high, stack_high};
	c->foreign = (struct window){0, 0};
	c->generation = 0;
	c->rule_shift = (uint8_t)(64 - rule_bits);
	c->child_shift = (uint8_t)(64 - child_bits);
	c->rules = (struct rule *)(c + 1);
	c->children = (struct child *)(c->rules + (1u << rule_bits));
	c->frames = (struct frame *)(c->children + (1u << child_bits));
	size_t n = (bytes - (size_t)((unsigned char *)c->frames - (unsigned char *)memory)) /
			BYTES_PER_FRAME;
	c->n_max = n < UINT32_MAX / 4 ? (uint32_t)n : UINT32_MAX / 4;
	c->n_checks_max = 2 * c->n_max;
	c->check_at = (uint64_t *)(c->frames + c->n_max);
	c->check_value = c->check_at + c->n_checks_max;
	c->last = c->frames;
	*c->last = (struct frame){.sp = UINT64_MAX};
	return c;
}

void capture_forget(struct capture *c) {
	c->last = c->frames;
}

void capture_modules_changed(void) {
	if (atomic_load_explicit(&is_ready, memory_order_acquire)) {
		modules_check();
	}
}

__attribute__((noinline, cold)) void capture_fetch_rule(struct rule *r, uint64_t key,
		bool is_stale) {
	rule_get(r, key, is_stale);
}

// ---- some inner frames are new

/** A frame on its way in: what its step outwards has loaded becomes checks. */
struct outer {
	uint64_t pc, sp, bp;
	uint32_t node;
	uint32_t n_checks;
	bool is_bp_live;
};

/** Remember `f`, which `o` has called, at `to`; then `f` is the outer one of the next. */
static inline __attribute__((always_inline)) bool push_near(struct capture *c, struct outer *o,
		const struct frame *f, struct frame *to) {
	int32_t bp = step_bp(f->rule);
	uint32_t node = child_node(c, o->node, f->where);
	if (__builtin_expect(node == 0, 0)) {
		return false;
	}
	c->check_at[o->n_checks] = o->sp - 8;
	c->check_value[o->n_checks] = o->pc;
	o->n_checks++;
	bool passes_bp = bp == RULE_BP_SAME;
	if (o->is_bp_live && !passes_bp) {
		c->check_at[o->n_checks] = o->sp + (uint64_t)(int64_t)bp;
		c->check_value[o->n_checks] = o->bp;
		o->n_checks++;
	}
	o->is_bp_live = step_kind(f->rule) != RULE_SP || (passes_bp && o->is_bp_live);
	o->node = node;
	o->pc = wire_where_pc(f->where);
	o->sp = f->sp;
	o->bp = f->bp;
	to->where = f->where;
	to->sp = f->sp;
	to->bp = f->bp;
	to->node = node;
	to->checks = o->n_checks | (o->is_bp_live ? FRAME_BP_LIVE : 0);
	return true;
}

/** Remember `n` new frames within those that hold. False: no node for one of them. */
static inline __attribute__((always_inline)) bool remember_near(struct capture *c, uint32_t n) {
	struct frame *to = c->last;
	struct outer o = {wire_where_pc(to->where), to->sp, to->bp, to->node, frame_checks(to),
			(to->checks & FRAME_BP_LIVE) != 0};
	for (const struct frame *f = new_frame(c, n - 1); n > 0; n--, f++) {
		if (!push_near(c, &o, f, to + 1)) {
			break;
		}
		to++;
	}
	c->last = to;
	return n == 0;
}

/** How many new frames there is room for: twice, while they are new and when remembered. */
static inline uint32_t room_near(const struct capture *c) {
	uint32_t n = (c->n_max - (uint32_t)(c->last - c->frames) - 1) / 2;
	uint32_t n_by_checks = (c->n_checks_max - frame_checks(c->last)) / 2;
	n = n < n_by_checks ? n : n_by_checks;
	return n < NEAR_MAX ? n : NEAR_MAX;
}

/** May the step from `rule` go by the frame pointer? */
static __attribute__((noinline)) bool is_plain_frame(const struct rule *rule, uint64_t sp,
		uint64_t bp) {
	return rule_is_frame(step_kind(rule->step)) && bp >= sp && bp % 8 == 0 &&
			!rule_is_stale(rule, rule->where & RULE_KEY_MASK);
}

/**
 * Unwind by plain rules to a remembered frame that holds, which becomes the last one; the number of
 * new frames on the way. -1: there is something that this way does not know.
 */
static inline __attribute__((always_inline)) int unwind_near(struct capture *c,
		const struct capture_regs *regs, const struct rule *rule, uint32_t n_most) {
	const uint64_t low = c->own.low;
	const uint64_t high = c->own.high;
	uint64_t sp = regs->sp;
	uint64_t bp = regs->bp;
	const struct frame *verified = c->frames;
	struct frame *last = c->last;
	struct frame *fresh = &c->frames[c->n_max];
	for (uint32_t n = 0; n < n_most; n++) {
		const uint64_t step = rule->step;
		uint64_t cfa = (step_kind(step) == RULE_SP ? sp : bp) + (uint64_t)step_cfa(step);
		if (__builtin_expect(step_kind(step) > RULE_BP, 0) && !is_plain_frame(rule, sp, bp)) {
			return -1;
		}
		if (cfa < sp + 8 || cfa > high) {
			return -1;
		}
		if (step_bp(step) != RULE_BP_SAME) {
			uint64_t slot = cfa + (uint64_t)(int64_t)step_bp(step);
			if (slot - low > high - 8 - low) {
				return -1;
			}
			bp = walk_load(slot);
		}
		uint64_t pc = walk_load(cfa - 8);
		if (!walk_is_pc(pc)) {
			return -1;
		}
		sp = cfa;
		last = not_returned(last, sp);
		if (is_state(last, pc, sp, bp)) {
			c->last = last;
			if (last <= verified || all_hold(c->check_at, c->check_value, frame_checks(last))) {
				return (int)n;
			}
			capture_drop_changed(c);
			verified = last = c->last;
		}
		rule = rule_at(c, pc);
		fresh--;
		fresh->where = rule->where;
		fresh->sp = sp;
		fresh->bp = bp;
		fresh->rule = rule->step;
	}
	return -1;
}

static __attribute__((noinline)) struct capture_result capture_near(struct capture *c,
		const struct capture_regs *regs, uint64_t stop_sp) {
	if (regs->sp < c->own.low || regs->sp >= c->own.high) {
		return capture_in_full(c, regs, stop_sp);
	}
	const struct rule *leaf = rule_at(c, regs->pc);
	uint64_t where = leaf->where;
	int n = unwind_near(c, regs, leaf, room_near(c));
	if (n < 0 || (c->last->checks & (FRAME_FOLDED | FRAME_TRUNCATED)) != 0 ||
			!remember_near(c, (uint32_t)n)) {
		return capture_in_full(c, regs, stop_sp);
	}
	uint32_t node = child_node(c, c->last->node, where);
	if (node == 0 || stop_sp != 0) {
		return capture_result_of(c, where, stop_sp);
	}
	return (struct capture_result){.node = node};
}

// ---- nothing is new but the leaf

/** Rules have changed since the last capture, or this is the first one. */
static __attribute__((noinline, cold)) struct capture_result capture_first(struct capture *c,
		const struct capture_regs *regs, uint64_t stop_sp) {
	if (!atomic_load_explicit(&is_ready, memory_order_acquire)) {
		return (struct capture_result){.is_truncated = true};
	}
	c->generation = atomic_load_explicit(&world_generation, memory_order_acquire);
	c->last = c->frames;
	sys_fill(c->rules, 0, sizeof(*c->rules) << (64 - c->rule_shift));
	return capture_in_full(c, regs, stop_sp);
}

/**
 * The usual case, in which the leaf's caller and all beyond it are as they were. It calls nothing
 * but, at its end, one of the others: so it has no registers to save.
 */
struct capture_result capture_stack(struct capture *c, const struct capture_regs *regs,
		uint64_t stop_sp) {
	if (__builtin_expect(c->generation !=
						atomic_load_explicit(&world_generation, memory_order_acquire),
				0)) {
		return capture_first(c, regs, stop_sp);
	}
	const uint64_t sp = regs->sp;
	const struct rule *leaf = rule_place(c, regs->pc);
	const uint64_t step = leaf->step;
	uint64_t cfa = (step_kind(step) == RULE_SP ? sp : regs->bp) + (uint64_t)step_cfa(step);
	if (!rule_is_of(leaf, regs->pc) || step_kind(step) > RULE_BP || sp < c->own.low ||
			cfa < sp + 8 || cfa > c->own.high) {
		return capture_near(c, regs, stop_sp);
	}
	uint64_t bp = regs->bp;
	if (step_bp(step) != RULE_BP_SAME) {
		uint64_t slot = cfa + (uint64_t)(int64_t)step_bp(step);
		if (!window_has(&c->own, slot)) {
			return capture_near(c, regs, stop_sp);
		}
		bp = walk_load(slot);
	}
	const struct frame *top = c->last = not_returned(c->last, cfa);
	if (!is_state(top, walk_load(cfa - 8), cfa, bp) ||
			!all_hold(c->check_at, c->check_value, frame_checks(top))) {
		return capture_near(c, regs, stop_sp);
	}
	const struct child *hot = child_place(c, top->node, leaf->where);
	if (hot->where != leaf->where || hot->parent != top->node || stop_sp != 0 ||
			(top->checks & (FRAME_FOLDED | FRAME_TRUNCATED)) != 0) {
		return capture_result_of(c, leaf->where, stop_sp);
	}
	return (struct capture_result){.node = hot->node};
}
