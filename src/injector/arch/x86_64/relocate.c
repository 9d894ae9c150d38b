// SPDX-License-Identifier: MIT
#include "injector/arch/relocate.h"

#include <Zydis/Zydis.h>
#include <inttypes.h>
#include <string.h>

struct decoded {
	ZydisDecodedInstruction i;
	ZydisDecodedOperand operands[ZYDIS_MAX_OPERAND_COUNT];
};

static bool decode(struct decoded *d, const uint8_t *bytes, size_t n) {
	ZydisDecoder decoder;
	return ZYAN_SUCCESS(
				   ZydisDecoderInit(&decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64)) &&
			ZYAN_SUCCESS(ZydisDecoderDecodeFull(&decoder, bytes, n, &d->i, d->operands));
}

/** Does it jump or call to a place that its own place tells? Then `*target` is that. */
static bool is_branch(const struct decoded *d, uint64_t at, uint64_t *target) {
	const ZydisDecodedOperand *first = &d->operands[0];
	if (d->i.operand_count_visible == 0 || first->type != ZYDIS_OPERAND_TYPE_IMMEDIATE ||
			!first->imm.is_relative) {
		return false;
	}
	*target = at + d->i.length + (uint64_t)first->imm.value.s;
	return true;
}

static bool is_last(const struct decoded *d) {
	return d->i.mnemonic == ZYDIS_MNEMONIC_JMP || d->i.mnemonic == ZYDIS_MNEMONIC_RET;
}

static bool is_padding(const uint8_t *bytes, size_t n) {
	for (size_t at = 0; at < n;) {
		struct decoded d;
		if (!decode(&d, bytes + at, n - at < 15 ? n - at + 15 : 15) ||
				(d.i.mnemonic != ZYDIS_MNEMONIC_NOP && d.i.mnemonic != ZYDIS_MNEMONIC_INT3)) {
			return false;
		}
		at += d.i.length;
	}
	return true;
}

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

/** A jump, conditional or not, or a call, with a distance of 4 bytes. */
static bool put_branch(struct relocated *out, const struct decoded *d, uint64_t target,
		uint64_t to) {
	uint8_t opcode = d->i.opcode;
	bool is_short_conditional = d->i.opcode_map == ZYDIS_OPCODE_MAP_DEFAULT && opcode >= 0x70 &&
			opcode <= 0x7f;
	bool is_conditional = d->i.opcode_map == ZYDIS_OPCODE_MAP_0F && opcode >= 0x80 &&
			opcode <= 0x8f;
	if (is_short_conditional || is_conditional) {
		uint8_t code[] = {0x0f, (uint8_t)(0x80 | (opcode & 0xf))};
		put(out, code, sizeof code);
	} else if (d->i.mnemonic == ZYDIS_MNEMONIC_JMP) {
		put(out, "\xe9", 1);
	} else if (d->i.mnemonic == ZYDIS_MNEMONIC_CALL) {
		put(out, "\xe8", 1);
	} else {
		return false; // loop, jrcxz
	}
	return put_distance(out, target + out->n_code, to);
}

static bool put_instruction(struct relocated *out, const struct decoded *d, const uint8_t *bytes,
		uint64_t at, uint64_t target) {
	uint64_t to;
	if (is_branch(d, at, &to)) {
		return put_branch(out, d, target, to);
	}
	size_t start = out->n_code;
	put(out, bytes, d->i.length);
	if ((d->i.attributes & ZYDIS_ATTRIB_IS_RELATIVE) == 0) {
		return true;
	}
	// Addressed by its own place: the distance changes, the length does not
	if (d->i.raw.disp.size != 32) {
		return false;
	}
	uint64_t operand = at + d->i.length + (uint64_t)d->i.raw.disp.value;
	int64_t distance = (int64_t)(operand - (target + start + d->i.length));
	int32_t short_distance = (int32_t)distance;
	memcpy(out->code + start + d->i.raw.disp.offset, &short_distance, sizeof short_distance);
	return short_distance == distance;
}

// ---- judging

static bool refuse(struct err *err, const struct function_code *f, const char *why) {
	return err_set(err, ERR_UNSUPPORTED, "function at 0x%" PRIx64 ": %s", f->address, why);
}

/** Does the rest of the function jump into what is moved? */
static bool is_jumped_into(const struct function_code *f, size_t from, size_t to) {
	uint64_t low = f->address + from, high = f->address + to;
	for (size_t at = 0; at < f->size;) {
		struct decoded d;
		uint64_t target;
		if (!decode(&d, f->bytes + at, f->n_bytes - at)) {
			return true;
		}
		if (is_branch(&d, f->address + at, &target) && target > low && target < high) {
			return true;
		}
		at += d.i.length;
	}
	return false;
}

bool relocate(struct relocated *out, const struct function_code *f, uint64_t target,
		struct err *err) {
	static const uint8_t endbr64[] = {0xf3, 0x0f, 0x1e, 0xfa};
	*out = (struct relocated){0};
	size_t start = f->n_bytes >= 4 && memcmp(f->bytes, endbr64, 4) == 0 ? 4 : 0;
	size_t at = start;
	bool has_ended = false;
	if (f->size == 0 || f->size > f->n_bytes) {
		return refuse(err, f, "its size is unknown");
	}
	while (at - start < RELOCATE_JUMP_BYTES && !has_ended) {
		struct decoded d;
		if (at >= f->size || out->n_steps == RELOCATE_STEPS_MAX) {
			return refuse(err, f, "it is too short for a jump");
		}
		if (!decode(&d, f->bytes + at, f->n_bytes - at)) {
			return refuse(err, f, "it contains an instruction that cannot be decoded");
		}
		out->from[out->n_steps] = (uint8_t)(at - start);
		out->to[out->n_steps++] = out->n_code;
		if (!put_instruction(out, &d, f->bytes + at, f->address + at, target)) {
			return refuse(err, f, "it begins with an instruction that cannot be moved");
		}
		at += d.i.length;
		has_ended = is_last(&d);
	}
	size_t taken = at - start;
	if (taken < RELOCATE_JUMP_BYTES) { // it ends there: what follows must be nobody's
		size_t missing = RELOCATE_JUMP_BYTES - taken;
		if (at + missing + 15 > f->n_bytes || !is_padding(f->bytes + at, missing)) {
			return refuse(err, f, "it is too short for a jump");
		}
		taken = RELOCATE_JUMP_BYTES;
	}
	if (is_jumped_into(f, start, start + taken)) {
		return refuse(err, f, "it jumps into its own beginning");
	}
	if (!has_ended) {
		put(out, "\xe9", 1);
		if (!put_distance(out, target + out->n_code, f->address + at)) {
			return refuse(err, f, "the rest of it is out of reach of a jump");
		}
	}
	out->patch_at = f->address + start;
	out->n_taken = (uint8_t)taken;
	return true;
}

size_t relocate_ways_out(const struct function_code *f, uint64_t *out, size_t max) {
	size_t n = 0;
	for (size_t at = 0; at < f->size && n < max;) {
		struct decoded d;
		uint64_t target;
		if (!decode(&d, f->bytes + at, f->n_bytes - at)) {
			break;
		}
		if (is_branch(&d, f->address + at, &target) && target - f->address >= f->size) {
			out[n++] = target;
		}
		at += d.i.length;
	}
	return n;
}

// ---- arguments

enum use { USE_NONE, USE_READ, USE_LOST };

static bool is_rsi(ZydisRegister r) {
	return ZydisRegisterGetLargestEnclosing(ZYDIS_MACHINE_MODE_LONG_64, r) == ZYDIS_REGISTER_RSI;
}

/** What an instruction does with the second argument. */
static enum use use_of_second(const struct decoded *d) {
	const ZydisDecodedOperand *o = d->operands;
	bool is_zeroing = d->i.mnemonic == ZYDIS_MNEMONIC_XOR &&
			o[0].type == ZYDIS_OPERAND_TYPE_REGISTER && o[1].type == ZYDIS_OPERAND_TYPE_REGISTER &&
			o[0].reg.value == o[1].reg.value;
	enum use use = is_last(d) || d->i.mnemonic == ZYDIS_MNEMONIC_CALL ? USE_LOST : USE_NONE;
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

bool relocate_reads_second(const struct function_code *f) {
	enum use use = USE_NONE;
	for (size_t at = 0; at < f->size && use == USE_NONE;) {
		struct decoded d;
		if (!decode(&d, f->bytes + at, f->n_bytes - at)) {
			return false;
		}
		use = use_of_second(&d);
		at += d.i.length;
	}
	return use == USE_READ;
}
