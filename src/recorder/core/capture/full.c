// SPDX-License-Identifier: MIT

/*
 * The way of a capture that knows all cases: other stacks, signal frames, code without tables, the
 * end of the stack, no room. It unwinds step by step, piles up what is new, and then remembers it
 * from the outside in.
 *
 * On the thread's own stack all of [sp, end) is readable, so checks may be compared in bulk. On
 * another stack they are compared from the leaf outwards and only as far as they agree: that reads
 * no word that the unwinding itself would not read.
 */

#include "recorder/core/capture/context.h"
#include "regs.h"

/** What one capture does beside the context's memory of the last one. */
struct unwinding {
	struct walk walk;
	uint32_t n_new;         // frames piled up
	struct frame *verified; // this remembered frame and those outside of it hold
	bool is_cut;            // the outermost new frame has callers that cannot be found
};

/** The last (innermost) of `n` checks that differs; `n`: none does. Stops there. */
static uint32_t last_difference(struct capture *c, struct walk *w, uint32_t n) {
	for (uint32_t i = n; i-- > 0;) {
		if (!walk_may_load(w, c->check_at[i]) || walk_load(c->check_at[i]) != c->check_value[i]) {
			return i;
		}
	}
	return n;
}

/** The innermost frame that has all its checks among the first `n`. */
static struct frame *frame_within(const struct capture *c, uint32_t n) {
	struct frame *low = c->frames;
	struct frame *high = c->last;
	while (low < high) {
		struct frame *middle = low + (high - low + 1) / 2;
		if (frame_checks(middle) <= n) {
			low = middle;
		} else {
			high = middle - 1;
		}
	}
	return low;
}

void capture_drop_changed(struct capture *c) {
	uint32_t n = frame_checks(c->last);
	uint32_t i = 0;
	while (i < n && walk_load(c->check_at[i]) == c->check_value[i]) {
		i++;
	}
	c->last = frame_within(c, i);
}

/** Has the unwinding met a remembered frame that still holds? If so it is the last one left. */
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
		c->last = at == n ? c->last : frame_within(c, at);
		return at == n;
	}
	if (all_hold(c->check_at, c->check_value, n)) {
		return true;
	}
	capture_drop_changed(c);
	u->verified = c->last;
	return false;
}

/** Room for one more new frame, the mark, and all that is remembered (or none of it). */
static bool make_room(struct capture *c, const struct unwinding *u) {
	if ((size_t)(c->last - c->frames) + u->n_new + 3 > c->n_max) {
		c->last = c->frames;
	}
	return u->n_new + 3 <= c->n_max;
}

static const struct rule *fresh_rule_at(struct capture *c, uint64_t key) {
	struct rule *r = rule_at(c, key);
	if (rule_is_stale(r, key)) {
		capture_fetch_rule(r, key, true);
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

/** What the step from `f` to `outer` has loaded. */
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

/** The flags that go inwards from a frame to those that it calls. */
static uint32_t flags_of(const struct frame *outer) {
	return outer->checks & (FRAME_FOLDED | FRAME_TRUNCATED);
}

/** Find or make the node of `where`, called by `outer`, which has its own; the flags that go with it. */
static uint32_t place(const struct frame *outer, uint64_t where, uint32_t *node) {
	uint32_t flags = flags_of(outer);
	*node = (flags & FRAME_FOLDED) == 0 ? trie_child(outer->node, where) : 0;
	if (*node == 0) {
		*node = outer->node;
		flags = FRAME_FOLDED | FRAME_TRUNCATED;
	}
	return flags;
}

/** All that is remembered gets its node. */
static void find_nodes(struct capture *c) {
	struct frame *f = c->last;
	while (f > c->frames && f->node == 0 && (f->checks & FRAME_FOLDED) == 0) {
		f--;
	}
	for (; f < c->last; f++) {
		f[1].checks |= place(f, f[1].where, &f[1].node);
	}
}

static void remember(struct capture *c, struct frame f) {
	f.path = path_step(c->last->path, f.where);
	*++c->last = f;
}

/** Remember new frame `i`; the frames outside of it have been. */
static void push(struct capture *c, struct unwinding *u, uint32_t i) {
	const struct frame f = *new_frame(c, i);
	const struct frame *outer = c->last;
	bool is_outermost = is_empty(c) || outer->where == WIRE_PC_TRUNCATED;
	struct checks k = {c->check_at, c->check_value, frame_checks(outer), c->n_checks_max, false};
	if (!is_outermost) {
		checks_of_step(&k, &f, outer);
	}
	for (unsigned t = 0; is_outermost && t < u->walk.n_tail; t++) {
		check_add(&k, u->walk.tail_at[t], u->walk.tail_value[t]);
	}
	uint32_t flags = flags_of(outer);
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

// ---- results

/** Does a signal frame lie between the leaf and the frame at `stop_sp`? */
static bool has_crossed_signal(const struct capture *c, uint64_t stop_sp) {
	for (const struct frame *f = c->last; f > c->frames; f--) {
		if ((f->where & WIRE_EXACT_PC) != 0) {
			return true;
		}
		if (f->sp == stop_sp) {
			return false;
		}
	}
	return false;
}

/** Whatever a jump out of a signal handler leaves of this, no node is taken for another path's. */
static void known_set(struct known_stack *k, uint64_t path, uint64_t where, uint32_t node) {
	k->path = 0;
	atomic_signal_fence(memory_order_seq_cst);
	k->where = (uint32_t)where;
	k->node = node;
	atomic_signal_fence(memory_order_seq_cst);
	k->path = path;
}

/** The node of the leaf `where` in what is remembered, and the flags that go with it. */
static uint32_t node_of_leaf(struct capture *c, uint64_t where, uint32_t *flags) {
	uint64_t path = path_step(c->last->path, where);
	struct known_stack *known = known_place(c, path);
	*flags = flags_of(c->last);
	if ((*flags & FRAME_FOLDED) == 0 && known_is(known, path, where)) {
		return known->node;
	}
	uint32_t node;
	find_nodes(c);
	*flags = place(c->last, where, &node);
	if ((*flags & FRAME_FOLDED) == 0) {
		known_set(known, path, where, node);
	}
	return node;
}

struct capture_result capture_result_of(struct capture *c, uint64_t where, uint64_t stop_sp) {
	uint32_t flags;
	uint32_t node = node_of_leaf(c, where, &flags);
	return (struct capture_result){
			.node = node,
			.is_truncated = (flags & FRAME_TRUNCATED) != 0,
			.crossed_signal = stop_sp != 0 && has_crossed_signal(c, stop_sp),
	};
}

struct capture_result capture_in_full(struct capture *c, const struct capture_regs *regs,
		uint64_t stop_sp) {
	struct unwinding u;
	u.n_new = 0;
	u.verified = c->frames;
	u.is_cut = false;
	const struct rule *leaf = fresh_rule_at(c, regs->pc);
	uint64_t where = leaf->where;
	if (walk_begin(&u.walk, regs, &c->own, &c->foreign)) {
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
