// SPDX-License-Identifier: MIT
/*
 * The capture that handles all cases: other stacks, signal frames, code without tables, the end of
 * the stack, no room. It unwinds step by step, collects new frames, and then remembers them from
 * the outside in. On the thread's own stack all of [sp, end) is readable, so checks may be compared
 * in bulk. On another stack they are compared from the leaf outwards and only while they agree,
 * which reads no word that unwinding itself would not read.
 */
#include "recorder/core/capture/context.h"

struct unwinding {
	struct walk walk;
	uint32_t n_new;         // frames collected
	struct frame *verified; // it and the remembered frames outside it hold
	bool is_cut;            // the callers of the outermost new frame cannot be found
};

/** The innermost of `n` checks that differs, or `n`. Reads nothing beyond it. */
static uint32_t last_difference(struct capture *c, struct walk *w, uint32_t n) {
	for (uint32_t i = n; i-- > 0;) {
		if (!walk_may_load(w, c->check_at[i]) || walk_load(c->check_at[i]) != c->check_value[i]) {
			return i;
		}
	}
	return n;
}

/** Has unwinding met a remembered frame that still holds? Then that is `last`. */
static bool is_met(struct capture *c, struct unwinding *u) {
	struct walk *w = &u->walk;
	c->last = not_returned(c->last, w->sp);
	if (!is_state(c->last, w->key, w->sp, w->bp)) {
		return false;
	}
	if (c->last <= u->verified) {
		return true;
	}
	uint32_t n = frame_checks(c->last);
	if (w->is_foreign) {
		uint32_t at = last_difference(c, w, n);
		c->last = at == n ? c->last : capture_frame_within(c, at);
		return at == n;
	}
	if (all_hold(c->check_at, c->check_value, n)) {
		return true;
	}
	capture_drop_changed(c);
	u->verified = c->last;
	return false;
}

/** Make room for one more new frame and the mark, if need be by forgetting everything. */
static bool make_room(struct capture *c, const struct unwinding *u) {
	if ((size_t)(c->last - c->frames) + u->n_new + 3 > c->n_max) {
		c->last = c->frames;
	}
	return u->n_new + 3 <= c->n_max;
}

static const struct rule *fresh_rule_at(struct capture *c, uint64_t key) {
	struct rule *r = rule_at(c, key);
	if (rule_is_stale(r, key)) {
		rule_get(r, key, true);
	}
	return r;
}

/** Unwind to the root, or to a remembered frame; `rule` is the leaf's. */
static void find_callers(struct capture *c, struct unwinding *u, const struct rule *rule) {
	struct walk *w = &u->walk;
	enum walk_step step = walk_step(w, rule->step);
	while (step == WALK_CALLER) {
		if (is_met(c, u)) {
			return;
		}
		if (!make_room(c, u)) {
			step = WALK_CUT;
			w->is_odd = true;
			break;
		}
		rule = fresh_rule_at(c, w->key);
		*new_frame(c, u->n_new++) = (struct frame){.where = rule->where,
				.sp = w->sp,
				.bp = w->bp,
				.rule = rule->step};
		step = walk_step(w, rule->step);
	}
	c->last = c->frames;
	u->is_cut = step == WALK_CUT;
}

// ---- remembering

/** Checks being appended for one frame. */
struct checks {
	uint64_t *at, *value;
	uint32_t n, n_max;
	bool is_full;
};

static void check_add(struct checks *k, uint64_t at, uint64_t value) {
	if (k->n == k->n_max) {
		k->is_full = true;
		return;
	}
	k->at[k->n] = at;
	k->value[k->n] = value;
	k->n++;
}

/** What the step from `f` to `outer` loaded. */
static void checks_of_step(struct checks *k, const struct frame *f, const struct frame *outer) {
	enum rule_kind kind = step_kind(f->rule);
	int32_t bp = step_bp(f->rule);
	bool is_bp_live = (outer->checks & FRAME_BP_LIVE) != 0;
	uint64_t pc = wire_where_pc(outer->where);
	if (kind == RULE_SIGNAL) {
		check_add(k, f->sp + SIGNAL_FRAME_PC, pc);
		check_add(k, f->sp + SIGNAL_FRAME_SP, outer->sp);
		if (is_bp_live) {
			check_add(k, f->sp + SIGNAL_FRAME_BP, outer->bp);
		}
		return;
	}
	bool is_deref = kind == RULE_DEREF;
	check_add(k, outer->sp - 8, pc);
	if (is_deref) {
		check_add(k, f->bp + (uint64_t)step_cfa(f->rule), outer->sp);
	}
	if (is_bp_live && bp != RULE_BP_SAME) {
		uint64_t base = is_deref ? f->bp : outer->sp;
		check_add(k, base + (uint64_t)(int64_t)bp, outer->bp);
	}
}

static bool is_bp_live(const struct frame *f, const struct frame *outer) {
	switch (step_kind(f->rule)) {
	case RULE_SP:
		return step_bp(f->rule) == RULE_BP_SAME && outer != NULL &&
				(outer->checks & FRAME_BP_LIVE) != 0;
	case RULE_BP:
	case RULE_DEREF:
	case RULE_FRAME:
	case RULE_JIT: return true;
	default: return false;
	}
}

static void remember(struct capture *c, struct frame f) {
	f.path = path_step(c->last->path, f.where);
	*++c->last = f;
}

/** Remember new frame `i`, once the frames outside it are. */
static void push(struct capture *c, struct unwinding *u, uint32_t i) {
	const struct frame f = *new_frame(c, i);
	const struct frame *outer = c->last;
	bool is_outermost = outer == c->frames || outer->where == WIRE_PC_TRUNCATED;
	struct checks k = {c->check_at, c->check_value, frame_checks(outer), c->n_checks_max, false};
	if (!is_outermost) {
		checks_of_step(&k, &f, outer);
	}
	for (unsigned t = 0; is_outermost && t < u->walk.n_tail; t++) {
		check_add(&k, u->walk.tail_at[t], u->walk.tail_value[t]);
	}
	uint32_t flags = frame_flags(outer) | frame_of_rule(f.rule);
	flags |= is_bp_live(&f, is_outermost ? NULL : outer) ? FRAME_BP_LIVE : 0;
	u->walk.is_odd |= k.is_full;
	remember(c, (struct frame){f.where, f.sp, f.bp, .checks = flags | k.n});
}

/** Remember the mark that stands for callers that could not be found. */
static void push_mark(struct capture *c) {
	remember(c,
			(struct frame){.where = WIRE_PC_TRUNCATED,
					.sp = UINT64_MAX,
					.checks = FRAME_TRUNCATED});
}

struct capture_result capture_in_full(struct capture *c, const struct capture_regs *regs,
		uint64_t stop_sp) {
	struct unwinding u;
	u.walk.key = regs->pc;
	u.walk.sp = regs->sp;
	u.walk.bp = regs->bp;
	u.n_new = 0;
	u.verified = c->frames;
	u.is_cut = false;
	const struct rule *leaf = fresh_rule_at(c, regs->pc);
	uint64_t where = leaf->where;
	if (walk_begin(&u.walk, &c->own, &c->foreign)) {
		find_callers(c, &u, leaf);
	} else {
		c->last = c->frames;
		u.is_cut = true;
	}
	struct frame *met = c->last;
	if (u.is_cut) {
		push_mark(c);
	}
	for (uint32_t i = u.n_new; i-- > 0;) {
		push(c, &u, i);
	}
	struct capture_result result = capture_result_of(c, where, stop_sp);
	if (u.walk.is_odd) {
		c->last = met; // what was met holds; the rest depends on more than we can check
	}
	return result;
}
