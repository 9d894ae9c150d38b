// SPDX-License-Identifier: MIT
/*
 * How an x86-64 instruction changes a frame. Only the stack pointer and %rbp are followed:
 *
 *      push %rbp           8     CFA = rsp + 8
 *      sub  $24, %rsp     16     CFA = rsp + 16, the caller's rbp at CFA - 16
 *      call ...           40     CFA = rsp + 40
 *
 * Whatever else changes the stack pointer makes it unknown.
 */
#include "injector/arch/x86_64/decode.h"

enum {
	RSP = 4,
	RBP = 5,
	TABLE_MAX = 1024
}; // registers as instructions number them; ways of a switch

// ---- registers

/** Is the operand in the field `rm` that register itself? */
static bool is_register(const ZydisDecodedInstruction *i, unsigned number) {
	return i->raw.modrm.mod == 3 && i->raw.modrm.rm == number && !i->raw.rex.B;
}

static bool writes_sp(const ZydisDecodedInstruction *i) {
	bool is_load = i->opcode == 0x8b || i->opcode == 0x8d || i->opcode == 0x03 || i->opcode == 0x2b;
	return is_load ? i->raw.modrm.reg == RSP && !i->raw.rex.R : is_register(i, RSP);
}

static void move_sp(struct frame_row *row, int64_t bytes) {
	int64_t words = row->sp - bytes / STEP_WORD;
	bool is_known = row->sp != 0 && bytes % STEP_WORD == 0 && words > 0 && words < UINT16_MAX;
	row->sp = is_known ? (uint16_t)words : 0;
}

static void push(struct frame_row *row, const ZydisDecodedInstruction *i) {
	move_sp(row, -STEP_WORD);
	if (i->opcode == 0x50 + RBP && !i->raw.rex.B && row->bp_at == 0 && row->bp == 0) {
		row->bp_at = row->sp;
	}
}

static void pop(struct frame_row *row, const ZydisDecodedInstruction *i) {
	if (i->opcode == 0x58 + RBP && !i->raw.rex.B && row->bp_at == row->sp) {
		row->bp_at = 0;
		row->bp = 0;
	}
	move_sp(row, STEP_WORD);
}

static void leave(struct frame_row *row) {
	row->sp = row->bp;
	move_sp(row, STEP_WORD);
	row->bp = row->bp_at = 0;
}

static void add(struct frame_row *row, const ZydisDecodedInstruction *i) {
	bool has_number = i->opcode == 0x83 || i->opcode == 0x81;
	int64_t n = i->raw.imm[0].value.s;
	if (writes_sp(i) && has_number) {
		move_sp(row, i->mnemonic == ZYDIS_MNEMONIC_ADD ? n : -n);
	} else if (writes_sp(i)) {
		row->sp = 0;
	}
}

/** lea n(%rsp), %rsp or lea n(%rbp), %rsp */
static void load(struct frame_row *row, const ZydisDecodedInstruction *i) {
	bool is_plain = i->raw.modrm.mod != 0 && !i->raw.rex.B;
	bool of_sp = is_plain && i->raw.modrm.rm == RSP && i->raw.sib.base == RSP &&
			i->raw.sib.index == RSP && !i->raw.rex.X;
	bool of_bp = is_plain && i->raw.modrm.rm == RBP;
	if (writes_sp(i)) {
		row->sp = of_sp ? row->sp : of_bp ? row->bp : 0;
		move_sp(row, i->raw.disp.value);
	}
}

/** mov %rsp, %rbp sets up a frame pointer, mov %rbp, %rsp ends a frame. */
static void copy(struct frame_row *row, const ZydisDecodedInstruction *i) {
	bool is_mov = i->opcode == 0x89 || i->opcode == 0x8b;
	bool is_copy = is_mov && i->raw.modrm.mod == 3 && !i->raw.rex.B && !i->raw.rex.R;
	unsigned to = i->opcode == 0x89 ? i->raw.modrm.rm : i->raw.modrm.reg;
	unsigned from = i->opcode == 0x89 ? i->raw.modrm.reg : i->raw.modrm.rm;
	if (is_copy && to == RBP && from == RSP && row->bp_at != 0) {
		row->bp = row->sp;
	} else if (is_copy && to == RSP && from == RBP) {
		row->sp = row->bp;
	} else if (is_mov && writes_sp(i)) {
		row->sp = 0;
	}
}

/** xor %rbp, %rbp without a frame pointer: the ABI's mark of the outermost frame. */
static void clear(struct frame_row *row, const ZydisDecodedInstruction *i) {
	row->is_end |= (i->opcode == 0x31 || i->opcode == 0x33) && is_register(i, RBP) &&
			i->raw.modrm.reg == RBP && !i->raw.rex.R && row->bp_at == 0;
}

static void change(struct frame_row *row, const ZydisDecodedInstruction *i) {
	switch (i->mnemonic) {
	case ZYDIS_MNEMONIC_PUSH:
	case ZYDIS_MNEMONIC_PUSHFQ: push(row, i); break;
	case ZYDIS_MNEMONIC_POP:
	case ZYDIS_MNEMONIC_POPFQ: pop(row, i); break;
	case ZYDIS_MNEMONIC_LEAVE: leave(row); break;
	case ZYDIS_MNEMONIC_ADD:
	case ZYDIS_MNEMONIC_SUB: add(row, i); break;
	case ZYDIS_MNEMONIC_MOV: copy(row, i); break;
	case ZYDIS_MNEMONIC_LEA: load(row, i); break;
	case ZYDIS_MNEMONIC_XOR: clear(row, i); break;
	case ZYDIS_MNEMONIC_AND: row->sp = writes_sp(i) ? 0 : row->sp; break;
	default: break;
	}
}

// ---- ways

static void take_hint(struct step *s, struct step_hints *h, const ZydisDecodedInstruction *i,
		uint64_t behind) {
	bool is_relative = i->raw.modrm.mod == 0 && i->raw.modrm.rm == RBP;
	if (i->mnemonic == ZYDIS_MNEMONIC_LEA && is_relative) {
		s->pointer = h->table = behind + (uint64_t)i->raw.disp.value;
	} else if (i->mnemonic == ZYDIS_MNEMONIC_CMP && i->raw.imm[0].size != 0) {
		h->n = (uint64_t)i->raw.imm[0].value.s + 1;
	}
}

/** jmp *%rax, from a table of distances from itself, or jmp *table(,%rax,8), of addresses. */
static void find_table(struct step *s, const struct step_hints *h,
		const ZydisDecodedInstruction *i) {
	s->has_addresses = i->raw.modrm.mod == 0 && i->raw.modrm.rm == RSP && i->raw.sib.base == RBP;
	s->table = s->has_addresses ? (uint64_t)i->raw.disp.value : h->table;
	s->n_ways = h->n;
	bool is_known = s->table != 0 && h->n != 0 && h->n <= TABLE_MAX &&
			(s->has_addresses || i->raw.modrm.mod == 3);
	s->way = is_known ? STEP_SWITCH : STEP_NOWHERE;
}

static void find_way(struct step *s, const struct step_hints *h, const ZydisDecodedInstruction *i,
		uint64_t behind) {
	bool is_relative = i->raw.imm[0].is_relative;
	s->to = is_relative ? behind + (uint64_t)i->raw.imm[0].value.s : STEP_NO_PLACE;
	switch (i->meta.category) {
	case ZYDIS_CATEGORY_CALL: s->way = STEP_CALL; break;
	case ZYDIS_CATEGORY_COND_BR: s->way = STEP_BRANCH; break;
	case ZYDIS_CATEGORY_UNCOND_BR:
		if (is_relative) {
			s->way = STEP_JUMP;
		} else {
			find_table(s, h, i);
		}
		break;
	case ZYDIS_CATEGORY_RET: s->way = STEP_NOWHERE; break;
	default: {
		bool traps = i->mnemonic == ZYDIS_MNEMONIC_HLT || i->mnemonic == ZYDIS_MNEMONIC_UD2;
		s->way = traps ? STEP_NOWHERE : STEP_ON;
	}
	}
}

bool step_over(struct step *out, struct frame_row *row, struct step_hints *hints,
		const uint8_t *bytes, size_t n_bytes, uint64_t at) {
	ZydisDecoder decoder;
	ZydisDecodedInstruction i;
	(void)ZydisDecoderInit(&decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
	if (!ZYAN_SUCCESS(ZydisDecoderDecodeInstruction(&decoder, NULL, bytes, n_bytes, &i)) &&
			!decode_opaque(&i, bytes, n_bytes)) {
		return false;
	}
	*out = (struct step){.n_bytes = i.length, .pointer = STEP_NO_PLACE};
	take_hint(out, hints, &i, at + i.length);
	change(row, &i);
	find_way(out, hints, &i, at + i.length);
	return true;
}
