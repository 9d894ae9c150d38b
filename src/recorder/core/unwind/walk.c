// SPDX-License-Identifier: MIT
/* A step for each kind of rule. Windows grow page by page, where the kernel says it is readable. */
#include "recorder/core/unwind/walk.h"

#include "recorder/core/segment.h"

enum {
	STEPS_MAX = 1 << 20, // to reach a state with all registers
	HOPS_MAX = 16,
	REACH_MAX = 1 << 20, // one function's frame on a foreign stack
};

// ---- windows

static bool is_in(const struct window *w, uint64_t address) {
	return address >= w->low && address < w->high;
}

static void probe(struct walk *w, uint64_t address) {
	while (w->is_foreign && !window_has(&w->window, address)) {
		if (!segment_may_call_system() || !sys_is_readable(w->window.high)) {
			return;
		}
		w->window.high += MACHINE_PAGE_LEAST;
		if (w->window.high >= w->own->low && w->window.low < w->own->low) {
			// What was found readable reaches the thread's own stack: it is a deeper part of that
			w->own->low = w->window.low;
			w->window = *w->own;
			w->is_foreign = false;
			*w->foreign = (struct window){0, 0};
		}
	}
}

bool walk_reach(struct walk *w, uint64_t address) {
	if (!w->is_foreign || address < w->window.low ||
			(address >= w->window.high && address - w->window.high > REACH_MAX)) {
		return false;
	}
	probe(w, address);
	if (w->is_foreign) {
		*w->foreign = w->window;
	}
	return window_has(&w->window, address);
}

/** Make the window that `sp` lies in. */
static bool enter_window(struct walk *w, uint64_t sp) {
	w->is_foreign = !is_in(w->own, sp);
	if (!w->is_foreign) {
		w->window = *w->own;
		return true;
	}
	if (is_in(w->foreign, sp)) {
		w->window = *w->foreign;
		return true;
	}
	w->window.low = sp & ~(MACHINE_PAGE_LEAST - 1ull);
	w->window.high = w->window.low;
	return walk_reach(w, sp & ~7ull);
}

/** The stack continues at `sp`, on another stack. False: unreadable, or too many hops. */
static bool hop(struct walk *w, uint64_t sp) {
	w->is_odd = true;
	return ++w->n_hops < HOPS_MAX && enter_window(w, sp);
}

bool walk_begin(struct walk *w, struct window *own, struct window *foreign) {
	w->own = own;
	w->foreign = foreign;
	w->n_hops = 0;
	w->is_odd = false;
	w->n_tail = 0;
	if (!enter_window(w, w->sp)) {
		return false;
	}
	// A few pages below the known part of the thread's stack: most likely just deeper
	enum { NEAR = 16 * MACHINE_PAGE_LEAST };
	if (w->is_foreign && w->sp < own->low && own->low - w->sp < NEAR) {
		(void)walk_reach(w, own->low);
	}
	return true;
}

// ---- steps that need registers beyond the state

/*
 * Such as ld.so's lazy binding (CFA in rbx), setjmp (rdi), hand-written cryptography (rax,
 * expressions). Callee-saved registers can be found, as our own frames, up to the hook's caller,
 * have tables, too: unwind with all registers from right here to the state, and one step further.
 */

struct registers {
	uint64_t value[REG_N];
	uint32_t known; // bit per register
	bool is_exact;  // the program counter was interrupted, not called from
	const struct walk *walk;
};

static bool load(void *memory, uint64_t address, uint64_t *value) {
	const struct registers *r = memory;
	bool is_safe = window_has(&r->walk->window, address) || window_has(r->walk->own, address);
	if (!is_safe && (!segment_may_call_system() || !sys_is_readable(address))) {
		return false;
	}
	*value = walk_load(address);
	return true;
}

static bool is_known(const struct registers *r, unsigned reg) {
	return reg < REG_N && (r->known >> reg & 1) != 0;
}

static struct eh_machine machine_of(struct registers *r) {
	return (struct eh_machine){r->value, r->known, load, r};
}

static bool cfa_of(struct registers *r, const struct eh_fde *fde, const struct eh_row *row,
		uint64_t *cfa) {
	if (row->cfa_how == EH_CFA_EXPR) {
		struct eh_machine machine = machine_of(r);
		return eh_evaluate(eh_expression(fde, row->cfa_value), &machine, false, 0, cfa);
	}
	if (!is_known(r, row->cfa_register)) {
		return false;
	}
	*cfa = r->value[row->cfa_register] + (uint64_t)(int64_t)row->cfa_value;
	return true;
}

/** Register `reg` of the caller. False: not known. */
static bool caller_register(struct registers *r, const struct eh_fde *fde, const struct eh_row *row,
		unsigned reg, uint64_t cfa, uint64_t *result) {
	int32_t value = row->value[reg];
	uint64_t at = cfa + (uint64_t)(int64_t)value;
	struct eh_machine machine = machine_of(r);
	switch (row->how[reg]) {
	case EH_SAME:
		*result = reg == REG_SP ? cfa : r->value[reg];
		return reg == REG_SP || (reg != REG_PC && is_known(r, reg));
	case EH_AT: return load(r, at, result);
	case EH_IS: *result = at; return true;
	case EH_REGISTER:
		*result = is_known(r, (unsigned)value) ? r->value[value] : 0;
		return is_known(r, (unsigned)value);
	case EH_AT_EXPR:
		return eh_evaluate(eh_expression(fde, value), &machine, true, cfa, &at) &&
				load(r, at, result);
	case EH_IS_EXPR: return eh_evaluate(eh_expression(fde, value), &machine, true, cfa, result);
	default: return false;
	}
}

static bool registers_signal(struct registers *r) {
	uint64_t sp = r->value[REG_SP];
	for (unsigned reg = 0; reg < REG_N; reg++) {
		if (!load(r, sp + (uint64_t)signal_frame_offset(reg), &r->value[reg])) {
			return false;
		}
	}
	r->known = (1u << REG_N) - 1;
	r->is_exact = true;
	return true;
}

static bool registers_frame(struct registers *r) {
	uint64_t bp = r->value[REG_BP];
	if (!is_known(r, REG_BP) || bp < r->value[REG_SP] || bp % 8 != 0 ||
			!load(r, bp, &r->value[REG_BP]) || !load(r, bp + 8, &r->value[REG_PC])) {
		return false;
	}
	r->value[REG_SP] = bp + 16;
	return true;
}

static bool registers_tables(struct registers *r, const struct eh_fde *fde, uint64_t lookup_pc,
		bool *is_end) {
	struct eh_row row;
	uint64_t cfa;
	if (!eh_row(fde, lookup_pc, &row)) {
		return false;
	}
	*is_end = row.how[REG_PC] == EH_UNDEFINED;
	if (*is_end || !cfa_of(r, fde, &row, &cfa)) {
		return *is_end;
	}
	struct registers next = *r;
	next.known = 0;
	for (unsigned reg = 0; reg < REG_N; reg++) {
		if (caller_register(r, fde, &row, reg, cfa, &next.value[reg])) {
			next.known |= 1u << reg;
		}
	}
	next.is_exact = fde->is_signal;
	*r = next;
	return is_known(r, REG_PC) && is_known(r, REG_SP);
}

static enum walk_step registers_step(struct registers *r) {
	struct eh_fde fde;
	struct rule rule;
	uint64_t lookup_pc;
	uint32_t module_id;
	bool is_end = false;
	bool is_found;
	uint64_t key = r->value[REG_PC] | (r->is_exact ? WIRE_EXACT_PC : 0);
	rule_get(&rule, key, false);
	if (step_kind(rule.step) == RULE_SIGNAL) {
		is_found = registers_signal(r);
	} else if (rule_find_fde(key, &fde, &lookup_pc, &module_id)) {
		is_found = registers_tables(r, &fde, lookup_pc, &is_end);
	} else {
		is_found = registers_frame(r);
		r->is_exact = false;
	}
	if (is_end || (is_found && r->value[REG_PC] == 0)) {
		return WALK_END;
	}
	return is_found && walk_is_pc(r->value[REG_PC]) ? WALK_CALLER : WALK_CUT;
}

/** Unwind with all registers, from right here to the state and one step on. */
static OUTLINE enum walk_step step_slowly(struct walk *w) {
	struct registers r;
	sys_fill(&r, 0, sizeof(r));
	r.walk = w;
	r.known = REGS_HERE_KNOWN;
	REGS_HERE(r.value);
	bool is_reached = false;
	for (unsigned i = 0; i < STEPS_MAX && !is_reached; i++) {
		if (registers_step(&r) != WALK_CALLER) {
			return WALK_CUT;
		}
		is_reached = r.value[REG_SP] == w->sp && r.value[REG_PC] == (w->key & WIRE_PC_MASK);
	}
	enum walk_step result = is_reached ? registers_step(&r) : WALK_CUT;
	if (result != WALK_CALLER) {
		return result;
	}
	uint64_t sp = r.value[REG_SP];
	if ((sp <= w->sp || !walk_may_load(w, sp - 8)) && !hop(w, sp - 8)) {
		return WALK_CUT;
	}
	w->key = r.value[REG_PC] | (r.is_exact ? WIRE_EXACT_PC : 0);
	w->sp = sp;
	w->bp = is_known(&r, REG_BP) ? r.value[REG_BP] : 0;
	return WALK_CALLER;
}

// ---- steps by the state alone

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

/** The caller by a RULE_SP or RULE_BP. */
static enum walk_step step_to(struct walk *w, uint64_t rule, uint64_t cfa) {
	bool is_elsewhere = cfa <= w->sp || !walk_may_load(w, cfa - 8);
	if (is_elsewhere && (step_kind(rule) == RULE_SP || !hop(w, cfa - 8))) {
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
	if ((sp <= w->sp || !walk_may_load(w, sp)) && !hop(w, sp)) {
		return WALK_CUT;
	}
	w->n_tail = 0;
	w->key = values[0] | WIRE_EXACT_PC;
	w->sp = sp;
	w->bp = values[2];
	return WALK_CALLER;
}

/** Code without tables: by its frame pointer, if that can be one. */
static enum walk_step step_frame(struct walk *w) {
	if (w->bp == 0) {
		return WALK_END;
	}
	if (w->is_foreign) {
		// Nothing vouches for bp: look at each page again
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
	return step_slowly(w);
}
