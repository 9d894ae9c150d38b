// SPDX-License-Identifier: MIT

/*
 * Steps that need registers which the state does not contain.
 *
 * These are ld.so's lazy binding (CFA in rbx), setjmp (rdi), hand-written cryptography (rax,
 * expressions). Callee-saved registers can be found, because our own frames, between here and the
 * hook's caller, have tables as well: unwind from this very function with all registers until the
 * state is reached, and then one step further.
 */

#include "recorder/core/attr.h"
#include "recorder/core/segment.h"
#include "recorder/core/sys.h"
#include "recorder/core/unwind/walk.h"
#include "regs.h"

enum { STEPS_MAX = 1 << 20 };

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

static bool step_signal(struct registers *r) {
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

static bool step_frame(struct registers *r) {
	uint64_t bp = r->value[REG_BP];
	if (!is_known(r, REG_BP) || bp < r->value[REG_SP] || bp % 8 != 0 ||
			!load(r, bp, &r->value[REG_BP]) || !load(r, bp + 8, &r->value[REG_PC])) {
		return false;
	}
	r->value[REG_SP] = bp + 16;
	return true;
}

static bool step_tables(struct registers *r, const struct eh_fde *fde, uint64_t lookup_pc,
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

static enum walk_step step(struct registers *r) {
	struct eh_fde fde;
	struct rule rule;
	uint64_t lookup_pc;
	uint32_t module_id;
	bool is_end = false;
	bool is_found;
	uint64_t key = r->value[REG_PC] | (r->is_exact ? WIRE_EXACT_PC : 0);
	rule_get(&rule, key, false);
	if (step_kind(rule.step) == RULE_SIGNAL) {
		is_found = step_signal(r);
	} else if (rule_find_fde(key, &fde, &lookup_pc, &module_id)) {
		is_found = step_tables(r, &fde, lookup_pc, &is_end);
	} else {
		is_found = step_frame(r);
		r->is_exact = false;
	}
	if (is_end || (is_found && r->value[REG_PC] == 0)) {
		return WALK_END;
	}
	return is_found && walk_is_pc(r->value[REG_PC]) ? WALK_CALLER : WALK_CUT;
}

OUTLINE enum walk_step slow_step(struct walk *w) {
	struct registers r;
	sys_fill(&r, 0, sizeof(r));
	r.walk = w;
	r.known = REGS_HERE_KNOWN;
	REGS_HERE(r.value);
	bool is_reached = false;
	for (unsigned i = 0; i < STEPS_MAX && !is_reached; i++) {
		if (step(&r) != WALK_CALLER) {
			return WALK_CUT;
		}
		is_reached = r.value[REG_SP] == w->sp && r.value[REG_PC] == (w->key & WIRE_PC_MASK);
	}
	enum walk_step result = is_reached ? step(&r) : WALK_CUT;
	if (result != WALK_CALLER) {
		return result;
	}
	uint64_t sp = r.value[REG_SP];
	if ((sp <= w->sp || !walk_may_load(w, sp - 8)) && !walk_hop(w, sp - 8)) {
		return WALK_CUT;
	}
	w->key = r.value[REG_PC] | (r.is_exact ? WIRE_EXACT_PC : 0);
	w->sp = sp;
	w->bp = is_known(&r, REG_BP) ? r.value[REG_BP] : 0;
	return WALK_CALLER;
}
