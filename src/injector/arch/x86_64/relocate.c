// SPDX-License-Identifier: MIT
/*
 * Moves the beginning of an x86-64 function: copies instructions until a jump of five bytes fits.
 * Jumps, calls and operands that are relative to their place get new distances, or are refused.
 */
#include "injector/arch/x86_64/decode.h"

enum { JUMP_BYTES = 5, INSTRUCTION_MAX = 15 };

// ---- writing

static void put(struct relocated *out, const void *bytes, size_t n) {
	memcpy(out->code + out->n_code, bytes, n);
	out->n_code = (uint8_t)(out->n_code + n);
}

static bool put_distance(struct relocated *out, uint64_t from, uint64_t to) {
	int64_t distance = (int64_t)(to - (from + 4));
	int32_t short_distance = (int32_t)distance;
	put(out, &short_distance, sizeof short_distance);
	return short_distance == distance;
}

/** A jump, conditional or not, or a call, with a 4-byte distance. */
static bool put_branch(struct relocated *out, const ZydisDecodedInstruction *i, uint64_t target,
		uint64_t to) {
	uint8_t opcode = i->opcode;
	bool is_short_conditional = i->opcode_map == ZYDIS_OPCODE_MAP_DEFAULT && opcode >= 0x70 &&
			opcode <= 0x7f;
	bool is_conditional = i->opcode_map == ZYDIS_OPCODE_MAP_0F && opcode >= 0x80 && opcode <= 0x8f;
	if (is_short_conditional || is_conditional) {
		uint8_t code[] = {0x0f, (uint8_t)(0x80 | (opcode & 0xf))};
		put(out, code, sizeof code);
	} else if (i->mnemonic == ZYDIS_MNEMONIC_JMP) {
		put(out, "\xe9", 1);
	} else if (i->mnemonic == ZYDIS_MNEMONIC_CALL) {
		put(out, "\xe8", 1);
	} else {
		return false; // loop, jrcxz
	}
	return put_distance(out, target + out->n_code, to);
}

static bool put_instruction(struct relocated *out, const struct instructions *d, uint64_t target) {
	if (is_opaque(&d->i)) {
		return false; // it may be relative to its place
	}
	uint64_t to;
	if (is_branch(d, &to)) {
		return put_branch(out, &d->i, target, to);
	}
	size_t start = out->n_code;
	put(out, d->f->bytes + d->at - d->i.length, d->i.length);
	if ((d->i.attributes & ZYDIS_ATTRIB_IS_RELATIVE) == 0) {
		return true;
	}
	// rip-relative: the distance changes, the length does not
	if (d->i.raw.disp.size != 32) {
		return false;
	}
	uint64_t operand = d->next + (uint64_t)d->i.raw.disp.value;
	int64_t distance = (int64_t)(operand - (target + start + d->i.length));
	int32_t short_distance = (int32_t)distance;
	memcpy(out->code + start + d->i.raw.disp.offset, &short_distance, sizeof short_distance);
	return short_distance == distance;
}

uint8_t relocate_put_jump(uint8_t *out, uint64_t from, uint64_t to) {
	int32_t distance = (int32_t)(to - (from + JUMP_BYTES));
	out[0] = 0xe9;
	memcpy(out + 1, &distance, sizeof distance);
	return JUMP_BYTES;
}

void relocate_put_relay(uint8_t out[RELOCATE_RELAY_BYTES], uint64_t what, uint64_t stub) {
	static const uint8_t code[] = {
			0x55,                   // push %rbp
			0x48, 0x89, 0xe5,       // mov %rsp, %rbp
			0xff, 0x35, 6, 0, 0, 0, // push 6(%rip): the first word behind
			0xff, 0x25, 8, 0, 0, 0, // jmp *8(%rip): the second
	};
	_Static_assert(sizeof code + 16 == RELOCATE_RELAY_BYTES, "two words follow");
	memcpy(out, code, sizeof code);
	memcpy(out + sizeof code, &what, sizeof what);
	memcpy(out + sizeof code + 8, &stub, sizeof stub);
}

// ---- judging

#define TOO_SHORT "it is too short for a jump"

/** Are the first `n` bytes instructions that do nothing? Those after them may be read, too. */
static bool is_padding(const uint8_t *bytes, size_t n) {
	const struct function_code f = {bytes, n + INSTRUCTION_MAX, n, 0};
	struct instructions d = instructions_from(&f, 0);
	return EVERY(d.at < n,
			instructions_read(&d) &&
					(d.i.mnemonic == ZYDIS_MNEMONIC_NOP || d.i.mnemonic == ZYDIS_MNEMONIC_INT3));
}

/** Does the rest of the function jump into the part to be moved? */
static bool is_jumped_into(const struct function_code *f, size_t from, size_t to) {
	uint64_t low = f->address + from, high = f->address + to;
	struct instructions d = instructions_from(f, 0);
	uint64_t target;
	return SOME(d.at < f->size,
			!instructions_read(&d) || (is_branch(&d, &target) && target > low && target < high));
}

/** Instructions from `start` on, until a jump fits or the function ends. NULL, or why not. */
static const char *move(struct relocated *out, struct instructions *d, size_t start,
		uint64_t target) {
	do {
		if (d->at >= d->f->size || out->n_steps == RELOCATE_STEPS_MAX) {
			return TOO_SHORT;
		}
		uint8_t from = (uint8_t)(d->at - start);
		if (!instructions_read(d)) {
			return "it contains an instruction that cannot be decoded";
		}
		out->from[out->n_steps] = from;
		out->to[out->n_steps++] = out->n_code;
		if (!put_instruction(out, d, target)) {
			return "it begins with an instruction that cannot be moved";
		}
	} while (d->at - start < JUMP_BYTES && !is_last(d));
	return NULL;
}

const char *relocate(struct relocated *out, const struct function_code *f, uint64_t target) {
	*out = (struct relocated){0};
	if (f->size == 0 || f->size > f->n_bytes) {
		return "its size is unknown";
	}
	size_t start = endbr64_bytes(f->bytes, f->n_bytes);
	struct instructions d = instructions_from(f, start);
	const char *why_not = move(out, &d, start, target);
	if (why_not) {
		return why_not;
	}
	size_t taken = d.at - start;
	if (taken < JUMP_BYTES) { // the function ends there: what follows must be padding
		size_t missing = JUMP_BYTES - taken;
		if (d.at + missing + INSTRUCTION_MAX > f->n_bytes ||
				!is_padding(f->bytes + d.at, missing)) {
			return TOO_SHORT;
		}
		taken = JUMP_BYTES;
	}
	if (is_jumped_into(f, start, start + taken)) {
		return "it jumps into its own beginning";
	}
	if (!is_last(&d)) {
		put(out, "\xe9", 1);
		if (!put_distance(out, target + out->n_code, f->address + d.at)) {
			return "the rest of it is out of reach of a jump";
		}
	}
	out->patch_at = f->address + start;
	out->n_taken = (uint8_t)taken;
	return NULL;
}
