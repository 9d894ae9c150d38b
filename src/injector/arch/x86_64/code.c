// SPDX-License-Identifier: MIT
/* Functions are decoded from their beginning, to know where each instruction begins. */
#include "injector/arch/x86_64/decode.h"

// ---- where it goes

size_t code_ways_out(struct function_code f, uint64_t *out, size_t max) {
	size_t n = 0;
	struct instructions d = instructions_from(&f, 0);
	while (n < max && instructions_next(&d)) {
		uint64_t target;
		if (is_branch(&d, &target) && target - f.address >= f.size) {
			out[n++] = target;
		}
	}
	return n;
}

/** Where an instruction jumps, or what it makes a pointer to; 0: neither. */
static uint64_t place_meant(const struct instructions *d, bool is_call_only) {
	for (unsigned k = 0; k < d->i.operand_count_visible; k++) {
		const ZydisDecodedOperand *o = &d->operands[k];
		if (o->type == ZYDIS_OPERAND_TYPE_IMMEDIATE && o->imm.is_relative) {
			return d->next + (uint64_t)o->imm.value.s;
		}
		if (is_call_only) {
			continue;
		}
		if (o->type == ZYDIS_OPERAND_TYPE_IMMEDIATE &&
				(d->i.mnemonic == ZYDIS_MNEMONIC_MOV || d->i.mnemonic == ZYDIS_MNEMONIC_PUSH)) {
			return (uint32_t)o->imm.value.u;
		}
		if (d->i.mnemonic == ZYDIS_MNEMONIC_LEA && o->type == ZYDIS_OPERAND_TYPE_MEMORY &&
				o->mem.base == ZYDIS_REGISTER_RIP) {
			return d->next + (uint64_t)o->mem.disp.value;
		}
	}
	return 0;
}

bool code_refers(struct function_code f, uint64_t address, bool is_call_only) {
	struct instructions d = instructions_from(&f, 0);
	return SOME(instructions_next(&d), place_meant(&d, is_call_only) == address);
}

/** Four bytes: a distance from the byte after them, or an address. */
size_t code_next_candidate(struct slice code, uint64_t code_at, size_t at, uint64_t address) {
	for (; at + 4 <= code.size; at++) {
		uint32_t word;
		memcpy(&word, code.data + at, sizeof word);
		if (word == (uint32_t)(address - (code_at + at + 4)) || word == (uint32_t)address) {
			return at;
		}
	}
	return SIZE_MAX;
}

/** [endbr64] [bnd] jmp *SLOT(%rip) */
bool code_plt_slot(struct slice code, uint64_t address, uint64_t *slot) {
	size_t at = endbr64_bytes(code.data, code.size);
	at += at < code.size && code.data[at] == 0xf2; // bnd
	int32_t distance;
	if (at + 6 > code.size || code.data[at] != 0xff || code.data[at + 1] != 0x25) {
		return false;
	}
	memcpy(&distance, code.data + at + 2, sizeof distance);
	*slot = address + at + 6 + (uint64_t)(int64_t)distance;
	return true;
}

// ---- arguments

enum use { USE_NONE, USE_READ, USE_LOST };

static bool is_rsi(ZydisRegister r) {
	return ZydisRegisterGetLargestEnclosing(ZYDIS_MACHINE_MODE_LONG_64, r) == ZYDIS_REGISTER_RSI;
}

static enum use use_of_second(const struct instructions *d) {
	const ZydisDecodedOperand *o = d->operands;
	bool is_zeroing = d->i.mnemonic == ZYDIS_MNEMONIC_XOR &&
			o[0].type == ZYDIS_OPERAND_TYPE_REGISTER && o[1].type == ZYDIS_OPERAND_TYPE_REGISTER &&
			o[0].reg.value == o[1].reg.value;
	bool is_end = is_last(d) || is_opaque(&d->i) || d->i.mnemonic == ZYDIS_MNEMONIC_CALL;
	enum use use = is_end ? USE_LOST : USE_NONE;
	for (unsigned i = 0; i < d->i.operand_count; i++, o++) {
		bool is_address = o->type == ZYDIS_OPERAND_TYPE_MEMORY &&
				(is_rsi(o->mem.base) || is_rsi(o->mem.index));
		bool is_it = o->type == ZYDIS_OPERAND_TYPE_REGISTER && is_rsi(o->reg.value);
		if (is_address || (is_it && !is_zeroing && (o->actions & ZYDIS_OPERAND_ACTION_MASK_READ))) {
			return USE_READ;
		}
		use = is_it ? USE_LOST : use;
	}
	return use;
}

bool code_reads_second(struct function_code f) {
	enum use use = USE_NONE;
	struct instructions d = instructions_from(&f, 0);
	while (use == USE_NONE && instructions_next(&d)) {
		use = use_of_second(&d);
	}
	return use == USE_READ;
}

// ---- arithmetic

bool code_multiplies(struct function_code f) {
	struct instructions d = instructions_from(&f, 0);
	return SOME(instructions_next(&d),
			d.i.mnemonic == ZYDIS_MNEMONIC_MUL ||
					(d.i.mnemonic == ZYDIS_MNEMONIC_IMUL &&
							d.i.operand_count_visible != 3)); // without a constant
}

bool code_compares_first(struct function_code f, int64_t value) {
	enum { FIRST_INSTRUCTIONS = 16 };
	struct instructions d = instructions_from(&f, 0);
	unsigned n = 0;
	return SOME(n++ < FIRST_INSTRUCTIONS && instructions_next(&d),
			d.i.mnemonic == ZYDIS_MNEMONIC_CMP &&
					d.operands[0].type == ZYDIS_OPERAND_TYPE_REGISTER &&
					d.operands[0].reg.value == ZYDIS_REGISTER_RDI &&
					d.operands[1].type == ZYDIS_OPERAND_TYPE_IMMEDIATE &&
					d.operands[1].imm.value.s == value);
}

bool code_begins_with_call(struct function_code f, uint32_t number) {
	struct instructions d = instructions_from(&f, endbr64_bytes(f.bytes, f.size));
	return instructions_next(&d) && d.i.mnemonic == ZYDIS_MNEMONIC_MOV &&
			d.operands[0].reg.value == ZYDIS_REGISTER_EAX &&
			d.operands[1].type == ZYDIS_OPERAND_TYPE_IMMEDIATE &&
			d.operands[1].imm.value.u == number && instructions_next(&d) &&
			d.i.mnemonic == ZYDIS_MNEMONIC_SYSCALL;
}
