// SPDX-License-Identifier: MIT
/* DWARF's stack machine, as far as unwind tables use it. It always ends: operations cost fuel. */
#include "recorder/core/unwind/eh.h"

enum { STACK_MAX = 16, FUEL = 200 };

struct evaluation {
	struct eh_cursor c;
	const uint8_t *start;
	const struct eh_machine *machine;
	uint64_t stack[STACK_MAX];
	unsigned n;
};

static void push(struct evaluation *e, uint64_t value) {
	if (e->n == STACK_MAX) {
		e->c.failed = true;
		return;
	}
	e->stack[e->n++] = value;
}

static uint64_t peek(struct evaluation *e, uint64_t depth) {
	if (depth >= e->n) {
		e->c.failed = true;
		return 0;
	}
	return e->stack[e->n - 1 - depth];
}

static uint64_t pop(struct evaluation *e) {
	uint64_t value = peek(e, 0);
	e->n -= e->n > 0;
	return value;
}

static void push_register(struct evaluation *e, uint64_t reg) {
	int64_t offset = eh_sleb(&e->c);
	if (reg >= REG_N || (e->machine->known >> reg & 1) == 0) {
		e->c.failed = true;
		return;
	}
	push(e, e->machine->regs[reg] + (uint64_t)offset);
}

static void push_loaded(struct evaluation *e, uint64_t bytes) {
	uint64_t value = 0;
	uint64_t address = pop(e);
	if (e->c.failed || bytes == 0 || bytes > 8 || e->machine->load == NULL ||
			!e->machine->load(e->machine->memory, address, &value)) {
		e->c.failed = true;
		return;
	}
	push(e, bytes == 8 ? value : value & ((1ull << 8 * bytes) - 1));
}

static void jump(struct evaluation *e, bool is_taken) {
	int64_t offset = eh_fixed_signed(&e->c, 2);
	if (!is_taken) {
		return;
	}
	if (offset < e->start - e->c.at || offset > e->c.end - e->c.at) {
		e->c.failed = true;
		return;
	}
	e->c.at += offset;
}

static void rotate(struct evaluation *e) {
	uint64_t a = pop(e);
	uint64_t b = pop(e);
	uint64_t c = pop(e);
	push(e, a);
	push(e, c);
	push(e, b);
}

static uint64_t binary(uint8_t op, uint64_t a, uint64_t b, bool *failed) {
	switch (op) {
	case DW_OP_and: return a & b;
	case DW_OP_minus: return a - b;
	case DW_OP_mul: return a * b;
	case DW_OP_or: return a | b;
	case DW_OP_plus: return a + b;
	case DW_OP_shl: return b < 64 ? a << b : 0;
	case DW_OP_shr: return b < 64 ? a >> b : 0;
	case DW_OP_shra: return (uint64_t)((int64_t)a >> (b < 64 ? b : 63));
	case DW_OP_xor: return a ^ b;
	case DW_OP_eq: return a == b;
	case DW_OP_ge: return (int64_t)a >= (int64_t)b;
	case DW_OP_gt: return (int64_t)a > (int64_t)b;
	case DW_OP_le: return (int64_t)a <= (int64_t)b;
	case DW_OP_lt: return (int64_t)a < (int64_t)b;
	case DW_OP_ne: return a != b;
	default: *failed = true; return 0;
	}
}

static void execute(struct evaluation *e, uint8_t op) {
	struct eh_cursor *c = &e->c;
	uint64_t top;
	switch (op) {
	case DW_OP_addr: push(e, eh_fixed(c, 8)); break;
	case DW_OP_constu: push(e, eh_uleb(c)); break;
	case DW_OP_consts: push(e, (uint64_t)eh_sleb(c)); break;
	case DW_OP_deref: push_loaded(e, 8); break;
	case DW_OP_deref_size: push_loaded(e, eh_fixed(c, 1)); break;
	case DW_OP_dup: push(e, peek(e, 0)); break;
	case DW_OP_drop: (void)pop(e); break;
	case DW_OP_over: push(e, peek(e, 1)); break;
	case DW_OP_pick: push(e, peek(e, eh_fixed(c, 1))); break;
	case DW_OP_swap:
		top = pop(e);
		uint64_t below = pop(e);
		push(e, top);
		push(e, below);
		break;
	case DW_OP_rot: rotate(e); break;
	case DW_OP_abs:
		top = pop(e);
		push(e, (int64_t)top < 0 ? -top : top);
		break;
	case DW_OP_neg: push(e, -pop(e)); break;
	case DW_OP_not: push(e, ~pop(e)); break;
	case DW_OP_plus_uconst:
		top = pop(e);
		push(e, top + eh_uleb(c));
		break;
	case DW_OP_bra: jump(e, pop(e) != 0); break;
	case DW_OP_skip: jump(e, true); break;
	case DW_OP_bregx: push_register(e, eh_uleb(c)); break;
	case DW_OP_nop: break;
	default: top = pop(e); push(e, binary(op, pop(e), top, &c->failed));
	}
}

struct eh_expr eh_expression(const struct eh_fde *fde, int32_t value) {
	const uint8_t *at = fde->record + value;
	struct eh_cursor c = {at, at + 10, false}; // eh_row() has checked the length
	uint64_t bytes = eh_uleb(&c);
	return (struct eh_expr){c.at, c.at + bytes};
}

bool eh_evaluate(struct eh_expr expr, const struct eh_machine *machine, bool has_start,
		uint64_t start, uint64_t *result) {
	struct evaluation e;
	e.c = (struct eh_cursor){expr.at, expr.end, false};
	e.start = expr.at;
	e.machine = machine;
	e.n = 0;
	if (has_start) {
		push(&e, start);
	}
	for (unsigned fuel = FUEL; e.c.at < e.c.end && !e.c.failed && fuel > 0; fuel--) {
		uint8_t op = (uint8_t)eh_fixed(&e.c, 1);
		if (op >= DW_OP_lit0 && op < DW_OP_lit0 + 32) {
			push(&e, op - DW_OP_lit0);
		} else if (op >= DW_OP_breg0 && op < DW_OP_breg0 + 32) {
			push_register(&e, op - DW_OP_breg0);
		} else if (op >= DW_OP_const1u && op <= DW_OP_const8s) { // const1u, const1s, const2u...
			unsigned bytes = 1u << (op - DW_OP_const1u) / 2;
			push(&e, op % 2 ? (uint64_t)eh_fixed_signed(&e.c, bytes) : eh_fixed(&e.c, bytes));
		} else {
			execute(&e, op);
		}
	}
	*result = pop(&e);
	return !e.c.failed && e.c.at >= e.c.end;
}
