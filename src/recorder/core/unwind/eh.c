// SPDX-License-Identifier: MIT
/* Finds a record by .eh_frame_hdr, a sorted table (function start, FDE), and runs its program. */
#include "recorder/core/unwind/eh.h"

#include "recorder/core/sys.h"

enum { TABLE_ENCODING = DW_EH_PE_datarel | DW_EH_PE_sdata4 }; // the one that linkers write

static bool find_linear(const uint8_t *at, const struct eh_tables *t, uint64_t pc,
		struct eh_fde *fde) {
	struct eh_cursor c;
	while ((uint64_t)at >= t->low && eh_record_open(&c, at, (const uint8_t *)t->high)) {
		if (eh_fde_read(fde, at, t->low, t->high) && pc >= fde->start && pc < fde->end) {
			return true;
		}
		at = c.end;
	}
	return false;
}

static const uint8_t *table_entry(const uint8_t *hdr, const uint8_t *table, uint64_t n,
		uint64_t pc) {
	const struct { int32_t start, fde; } *rows = (const void *)table;
	int64_t wanted = (int64_t)(pc - (uint64_t)hdr);
	uint64_t low = 0;
	while (n > 0) { // the last row that starts at or before pc
		uint64_t half = n / 2;
		if (rows[low + half].start <= wanted) {
			low += half + 1;
			n -= half + 1;
		} else {
			n = half;
		}
	}
	return low == 0 ? NULL : hdr + rows[low - 1].fde;
}

bool eh_find(const struct eh_tables *t, uint64_t pc, struct eh_fde *fde) {
	if (t->hdr == NULL) {
		return t->frame != NULL && find_linear(t->frame, t, pc, fde);
	}
	struct eh_cursor c = {t->hdr, (const uint8_t *)t->high, false};
	uint64_t version = eh_fixed(&c, 1);
	uint8_t frame_encoding = (uint8_t)eh_fixed(&c, 1);
	uint8_t count_encoding = (uint8_t)eh_fixed(&c, 1);
	uint8_t table_encoding = (uint8_t)eh_fixed(&c, 1);
	if (version != 1 || frame_encoding == DW_EH_PE_omit) {
		return false;
	}
	uint64_t frame = eh_pointer(&c, frame_encoding, (uint64_t)t->hdr);
	if (count_encoding == DW_EH_PE_omit || table_encoding != TABLE_ENCODING) {
		return !c.failed && find_linear((const uint8_t *)frame, t, pc, fde);
	}
	uint64_t n = eh_pointer(&c, count_encoding, (uint64_t)t->hdr);
	if (c.failed || n > (uint64_t)(c.end - c.at) / 8) {
		return false;
	}
	const uint8_t *at = table_entry(t->hdr, c.at, n, pc);
	return at != NULL && eh_fde_read(fde, at, t->low, t->high) && pc >= fde->start && pc < fde->end;
}

bool eh_range(const uint8_t *frame, uint64_t *low, uint64_t *high) {
	struct eh_cursor c;
	struct eh_fde fde;
	const uint8_t *limit = (const uint8_t *)INT64_MAX; // a record of length 0 ends it
	*low = UINT64_MAX;
	*high = 0;
	for (const uint8_t *at = frame; eh_record_open(&c, at, limit); at = c.end) {
		if (eh_fde_read(&fde, at, (uint64_t)frame, (uint64_t)limit) && fde.start < fde.end) {
			*low = fde.start < *low ? fde.start : *low;
			*high = fde.end > *high ? fde.end : *high;
		}
	}
	return *low < *high;
}

// ---- programs

enum { REMEMBER_MAX = 4 }; // compilers nest them one deep

struct program {
	struct eh_cursor c;
	const struct eh_fde *fde;
	struct eh_row *row;
	const struct eh_row *initial; // what the CIE leaves; NULL while it runs
	struct eh_row remembered[REMEMBER_MAX];
	unsigned n_remembered;
	uint64_t loc;
};

static void set(struct program *p, uint64_t reg, enum eh_how how, int64_t value) {
	if (reg >= REG_N) {
		return; // vector registers, which nobody needs
	}
	p->c.failed = p->c.failed || value != (int32_t)value;
	p->row->how[reg] = (uint8_t)how;
	p->row->value[reg] = (int32_t)value;
}

static void set_cfa(struct program *p, enum eh_how how, uint64_t reg, int64_t value) {
	p->c.failed = p->c.failed || value != (int32_t)value || reg > UINT8_MAX;
	p->row->cfa_how = (uint8_t)how;
	p->row->cfa_register = (uint8_t)reg;
	p->row->cfa_value = (int32_t)value;
}

static void restore(struct program *p, uint64_t reg) {
	if (reg < REG_N && p->initial != NULL) {
		p->row->how[reg] = p->initial->how[reg];
		p->row->value[reg] = p->initial->value[reg];
	}
}

/** Skips an expression and returns its place. */
static int64_t expression_skip(struct program *p) {
	int64_t place = p->c.at - p->fde->record;
	uint64_t bytes = eh_uleb(&p->c);
	if (bytes > (uint64_t)(p->c.end - p->c.at)) {
		p->c.failed = true;
		return 0;
	}
	p->c.at += bytes;
	return place;
}

static void remember(struct program *p) {
	if (p->n_remembered == REMEMBER_MAX) {
		p->c.failed = true;
		return;
	}
	p->remembered[p->n_remembered++] = *p->row;
}

static void recall(struct program *p) {
	if (p->n_remembered == 0) {
		p->c.failed = true;
		return;
	}
	*p->row = p->remembered[--p->n_remembered];
}

// Operations on a register, their first operand: how it is found, and the form of the second
// operand: u(nsigned), s(igned) or n(egated) times the alignment, r(egister), e(xpression)
static const struct {
	uint8_t how;
	char operand;
} register_ops[] = {
		[DW_CFA_offset_extended] = {EH_AT, 'u'},
		[DW_CFA_offset_extended_sf] = {EH_AT, 's'},
		[DW_CFA_GNU_negative_offset_extended] = {EH_AT, 'n'},
		[DW_CFA_val_offset] = {EH_IS, 'u'},
		[DW_CFA_val_offset_sf] = {EH_IS, 's'},
		[DW_CFA_register] = {EH_REGISTER, 'r'},
		[DW_CFA_expression] = {EH_AT_EXPR, 'e'},
		[DW_CFA_val_expression] = {EH_IS_EXPR, 'e'},
};

static int64_t second_operand(struct program *p, char form) {
	const int64_t align = p->fde->data_align;
	switch (form) {
	case 'u': return (int64_t)eh_uleb(&p->c) * align;
	case 's': return eh_sleb(&p->c) * align;
	case 'n': return -(int64_t)eh_uleb(&p->c) * align;
	case 'r': return (int64_t)eh_uleb(&p->c);
	default: return expression_skip(p);
	}
}

static void execute(struct program *p, uint8_t op) {
	struct eh_cursor *c = &p->c;
	const int64_t align = p->fde->data_align;
	uint64_t reg = op & 0x3f;
	switch (op & 0xc0) {
	case DW_CFA_offset: set(p, reg, EH_AT, (int64_t)eh_uleb(c) * align); return;
	case DW_CFA_restore: restore(p, reg); return;
	default: break;
	}
	if (op < sizeof register_ops / sizeof *register_ops && register_ops[op].operand != 0) {
		reg = eh_uleb(c);
		set(p, reg, register_ops[op].how, second_operand(p, register_ops[op].operand));
		return;
	}
	switch (op) {
	case DW_CFA_nop: break;
	case DW_CFA_set_loc: p->loc = eh_pointer(c, p->fde->pc_encoding, 0); break;
	case DW_CFA_advance_loc1: p->loc += eh_fixed(c, 1) * p->fde->code_align; break;
	case DW_CFA_advance_loc2: p->loc += eh_fixed(c, 2) * p->fde->code_align; break;
	case DW_CFA_advance_loc4: p->loc += eh_fixed(c, 4) * p->fde->code_align; break;
	case DW_CFA_restore_extended: restore(p, eh_uleb(c)); break;
	case DW_CFA_undefined: set(p, eh_uleb(c), EH_UNDEFINED, 0); break;
	case DW_CFA_same_value: set(p, eh_uleb(c), EH_SAME, 0); break;
	case DW_CFA_remember_state: remember(p); break;
	case DW_CFA_restore_state: recall(p); break;
	case DW_CFA_def_cfa:
		reg = eh_uleb(c);
		set_cfa(p, EH_CFA_OFFSET, reg, (int64_t)eh_uleb(c));
		break;
	case DW_CFA_def_cfa_sf:
		reg = eh_uleb(c);
		set_cfa(p, EH_CFA_OFFSET, reg, eh_sleb(c) * align);
		break;
	case DW_CFA_def_cfa_register: set_cfa(p, EH_CFA_OFFSET, eh_uleb(c), p->row->cfa_value); break;
	case DW_CFA_def_cfa_offset:
		set_cfa(p, EH_CFA_OFFSET, p->row->cfa_register, (int64_t)eh_uleb(c));
		break;
	case DW_CFA_def_cfa_offset_sf:
		set_cfa(p, EH_CFA_OFFSET, p->row->cfa_register, eh_sleb(c) * align);
		break;
	case DW_CFA_def_cfa_expression: set_cfa(p, EH_CFA_EXPR, 0, expression_skip(p)); break;
	case DW_CFA_GNU_args_size: (void)eh_uleb(c); break;
	default: c->failed = true;
	}
}

/**
 * Run to the end, or to the last instruction that holds at `pc`. Nearly all instructions are of the
 * two kinds that a push and a pop need: these are executed without the cursor.
 */
static bool run(struct program *p, const uint8_t *at, const uint8_t *end, uint64_t pc) {
	p->c = (struct eh_cursor){at, end, false};
	while (at < end && p->loc <= pc && !p->c.failed) {
		uint8_t op = *at++;
		if ((op & 0xc0) == DW_CFA_advance_loc) {
			p->loc += (op & 0x3f) * p->fde->code_align;
		} else if (op == DW_CFA_def_cfa_offset && at < end && *at < 0x80) {
			p->row->cfa_how = EH_CFA_OFFSET;
			p->row->cfa_value = *at++;
		} else {
			p->c.at = at;
			execute(p, op);
			at = p->c.at;
		}
	}
	return !p->c.failed;
}

bool eh_row(const struct eh_fde *fde, uint64_t pc, struct eh_row *row) {
	struct program p;
	struct eh_row initial;
	sys_fill(row, 0, sizeof(*row));
	p.fde = fde;
	p.row = row;
	p.initial = NULL;
	p.n_remembered = 0;
	p.loc = 0;
	if (fde->pc_register != REG_PC || !run(&p, fde->cie_program, fde->cie_finish, UINT64_MAX)) {
		return false;
	}
	initial = *row;
	p.initial = &initial;
	p.loc = fde->start;
	return run(&p, fde->program, fde->finish, pc) && row->cfa_how != 0;
}
