// SPDX-License-Identifier: MIT

/*
 * DWARF's stack machine, as far as unwind tables use it.
 *
 * Evaluation always ends: every operation costs fuel, also a jump backwards.
 */

#include "recorder/core/unwind/eh.h"

enum {
	OP_ADDR = 0x03,
	OP_DEREF = 0x06,
	OP_CONST1U = 0x08,
	OP_CONST1S = 0x09,
	OP_CONST2U = 0x0a,
	OP_CONST2S = 0x0b,
	OP_CONST4U = 0x0c,
	OP_CONST4S = 0x0d,
	OP_CONST8U = 0x0e,
	OP_CONST8S = 0x0f,
	OP_CONSTU = 0x10,
	OP_CONSTS = 0x11,
	OP_DUP = 0x12,
	OP_DROP = 0x13,
	OP_OVER = 0x14,
	OP_PICK = 0x15,
	OP_SWAP = 0x16,
	OP_ROT = 0x17,
	OP_ABS = 0x19,
	OP_AND = 0x1a,
	OP_MINUS = 0x1c,
	OP_MUL = 0x1e,
	OP_NEG = 0x1f,
	OP_NOT = 0x20,
	OP_OR = 0x21,
	OP_PLUS = 0x22,
	OP_PLUS_UCONST = 0x23,
	OP_SHL = 0x24,
	OP_SHR = 0x25,
	OP_SHRA = 0x26,
	OP_XOR = 0x27,
	OP_BRA = 0x28,
	OP_EQ = 0x29,
	OP_GE = 0x2a,
	OP_GT = 0x2b,
	OP_LE = 0x2c,
	OP_LT = 0x2d,
	OP_NE = 0x2e,
	OP_SKIP = 0x2f,
	OP_LIT0 = 0x30,
	OP_BREG0 = 0x70,
	OP_BREGX = 0x92,
	OP_DEREF_SIZE = 0x94,
	OP_NOP = 0x96,
	STACK_MAX = 16,
	FUEL = 200,
};

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
	if (e->c.failed || bytes == 0 || bytes > 8 ||
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
	case OP_AND: return a & b;
	case OP_MINUS: return a - b;
	case OP_MUL: return a * b;
	case OP_OR: return a | b;
	case OP_PLUS: return a + b;
	case OP_SHL: return b < 64 ? a << b : 0;
	case OP_SHR: return b < 64 ? a >> b : 0;
	case OP_SHRA: return (uint64_t)((int64_t)a >> (b < 64 ? b : 63));
	case OP_XOR: return a ^ b;
	case OP_EQ: return a == b;
	case OP_GE: return (int64_t)a >= (int64_t)b;
	case OP_GT: return (int64_t)a > (int64_t)b;
	case OP_LE: return (int64_t)a <= (int64_t)b;
	case OP_LT: return (int64_t)a < (int64_t)b;
	case OP_NE: return a != b;
	default: *failed = true; return 0;
	}
}

static void execute(struct evaluation *e, uint8_t op) {
	struct eh_cursor *c = &e->c;
	uint64_t top;
	switch (op) {
	case OP_ADDR:
	case OP_CONST8U:
	case OP_CONST8S: push(e, eh_fixed(c, 8)); break;
	case OP_CONST1U: push(e, eh_fixed(c, 1)); break;
	case OP_CONST1S: push(e, (uint64_t)eh_fixed_signed(c, 1)); break;
	case OP_CONST2U: push(e, eh_fixed(c, 2)); break;
	case OP_CONST2S: push(e, (uint64_t)eh_fixed_signed(c, 2)); break;
	case OP_CONST4U: push(e, eh_fixed(c, 4)); break;
	case OP_CONST4S: push(e, (uint64_t)eh_fixed_signed(c, 4)); break;
	case OP_CONSTU: push(e, eh_uleb(c)); break;
	case OP_CONSTS: push(e, (uint64_t)eh_sleb(c)); break;
	case OP_DEREF: push_loaded(e, 8); break;
	case OP_DEREF_SIZE: push_loaded(e, eh_fixed(c, 1)); break;
	case OP_DUP: push(e, peek(e, 0)); break;
	case OP_DROP: (void)pop(e); break;
	case OP_OVER: push(e, peek(e, 1)); break;
	case OP_PICK: push(e, peek(e, eh_fixed(c, 1))); break;
	case OP_SWAP:
		top = pop(e);
		uint64_t below = pop(e);
		push(e, top);
		push(e, below);
		break;
	case OP_ROT: rotate(e); break;
	case OP_ABS:
		top = pop(e);
		push(e, (int64_t)top < 0 ? -top : top);
		break;
	case OP_NEG: push(e, -pop(e)); break;
	case OP_NOT: push(e, ~pop(e)); break;
	case OP_PLUS_UCONST:
		top = pop(e);
		push(e, top + eh_uleb(c));
		break;
	case OP_BRA: jump(e, pop(e) != 0); break;
	case OP_SKIP: jump(e, true); break;
	case OP_BREGX: push_register(e, eh_uleb(c)); break;
	case OP_NOP: break;
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
		if (op >= OP_LIT0 && op < OP_LIT0 + 32) {
			push(&e, op - OP_LIT0);
		} else if (op >= OP_BREG0 && op < OP_BREG0 + 32) {
			push_register(&e, op - OP_BREG0);
		} else {
			execute(&e, op);
		}
	}
	*result = pop(&e);
	return !e.c.failed && e.c.at >= e.c.end;
}
