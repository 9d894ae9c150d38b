// SPDX-License-Identifier: MIT

/*
 * A step for each kind of rule. Each yields the caller's state, or notes what it has loaded in
 * vain.
 */

#include "recorder/core/unwind/walk.h"

#include "regs.h"

static void tail_add(struct walk *w, uint64_t at, uint64_t value) {
	w->tail_at[w->n_tail] = at;
	w->tail_value[w->n_tail] = value;
	w->n_tail++;
}

/** The caller's state, its stack pointer being `cfa`. */
static enum walk_step caller_at(struct walk *w, uint64_t cfa, uint64_t bp) {
	uint64_t slot = cfa - 8;
	if (cfa <= w->sp || !walk_may_load(w, slot)) {
		return WALK_CUT;
	}
	uint64_t pc = walk_load(slot);
	if (!walk_is_pc(pc)) {
		tail_add(w, slot, pc);
		return pc == 0 ? WALK_END : WALK_CUT;
	}
	w->key = pc;
	w->sp = cfa;
	w->bp = bp;
	return WALK_CALLER;
}

/** The caller by a rule of the kind RULE_SP or RULE_BP. */
static enum walk_step step_to(struct walk *w, uint64_t rule, uint64_t cfa) {
	bool is_elsewhere = cfa <= w->sp || !walk_may_load(w, cfa - 8);
	if (is_elsewhere && (step_kind(rule) == RULE_SP || !walk_hop(w, cfa - 8))) {
		return WALK_CUT;
	}
	if (is_elsewhere) {
		w->sp = cfa - 8; // the new stack has no older frame to compare with
	}
	uint64_t bp = w->bp;
	if (step_bp(rule) != RULE_BP_SAME) {
		uint64_t slot = cfa + (uint64_t)(int64_t)step_bp(rule);
		if (!walk_may_load(w, slot)) {
			return WALK_CUT;
		}
		bp = walk_load(slot);
	}
	return caller_at(w, cfa, bp);
}

static enum walk_step step_deref(struct walk *w, uint64_t rule) {
	uint64_t at = w->bp + (uint64_t)step_cfa(rule);
	if (!walk_may_load(w, at)) {
		return WALK_CUT;
	}
	uint64_t cfa = walk_load(at);
	uint64_t bp = w->bp;
	if (step_bp(rule) != RULE_BP_SAME) {
		uint64_t slot = w->bp + (uint64_t)(int64_t)step_bp(rule);
		if (!walk_may_load(w, slot)) {
			return WALK_CUT;
		}
		bp = walk_load(slot);
	}
	enum walk_step step = caller_at(w, cfa, bp);
	if (step != WALK_CALLER) {
		tail_add(w, at, cfa);
	}
	return step;
}

static enum walk_step step_signal(struct walk *w) {
	static const uint8_t offsets[3] = {SIGNAL_FRAME_PC, SIGNAL_FRAME_SP, SIGNAL_FRAME_BP};
	uint64_t values[3];
	for (unsigned i = 0; i < 3; i++) {
		uint64_t at = w->sp + offsets[i];
		if (!walk_may_load(w, at)) {
			return WALK_CUT;
		}
		values[i] = walk_load(at);
		tail_add(w, at, values[i]);
	}
	if (!walk_is_pc(values[0])) {
		return WALK_CUT;
	}
	uint64_t sp = values[1];
	if ((sp <= w->sp || !walk_may_load(w, sp)) && !walk_hop(w, sp)) {
		return WALK_CUT;
	}
	w->n_tail = 0;
	w->key = values[0] | WIRE_EXACT_PC;
	w->sp = sp;
	w->bp = values[2];
	return WALK_CALLER;
}

/** Code without tables: its frame pointer, if that can be one. */
static enum walk_step step_frame(struct walk *w) {
	if (w->bp == 0) {
		return WALK_END;
	}
	if (w->is_foreign) {
		// Nothing vouches for bp: look at each page anew
		w->is_odd = true;
		w->window.high = (w->sp & ~(MACHINE_PAGE_LEAST - 1ull)) +
				(w->sp % MACHINE_PAGE_LEAST > 0 ? MACHINE_PAGE_LEAST : 0);
	}
	if (w->bp < w->sp || w->bp % 8 != 0 || !walk_may_load(w, w->bp) ||
			!walk_may_load(w, w->bp + 8)) {
		return WALK_CUT;
	}
	return caller_at(w, w->bp + 16, walk_load(w->bp));
}

enum walk_step walk_step(struct walk *w, uint64_t rule) {
	uint64_t offset = (uint64_t)step_cfa(rule);
	switch (step_kind(rule)) {
	case RULE_SP: return step_to(w, rule, w->sp + offset);
	case RULE_BP: return step_to(w, rule, w->bp + offset);
	case RULE_DEREF: return step_deref(w, rule);
	case RULE_SIGNAL: return step_signal(w);
	case RULE_FRAME:
	case RULE_JIT: return step_frame(w);
	case RULE_END: return WALK_END;
	case RULE_NONE:
	case RULE_SLOW: break;
	}
	w->is_odd = true;
	return slow_step(w);
}
