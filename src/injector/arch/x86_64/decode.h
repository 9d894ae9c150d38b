// SPDX-License-Identifier: MIT
#pragma once
/**
 * The instructions of a function in order, by Zydis. Without AVX-512 (11 kB of tables): of those
 * only the length is known; they neither branch nor change the stack pointer.
 */

#include "injector/arch/code.h"

#include <Zydis/Zydis.h>

struct instructions {
	ZydisDecoder decoder;
	const struct function_code *f;
	size_t at;              // offset of the next
	uint64_t address, next; // of the one just read, and of what follows it
	ZydisDecodedInstruction i;
	ZydisDecodedOperand operands[ZYDIS_MAX_OPERAND_COUNT];
};

static inline struct instructions instructions_from(const struct function_code *f, size_t at) {
	struct instructions d;
	d.f = f;
	d.at = at;
	(void)ZydisDecoderInit(&d.decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
	return d;
}

/** The length of an instruction with an EVEX prefix; 0: it has none, or is cut off. */
size_t evex_bytes(const uint8_t *bytes, size_t n);

/** Is only its length known? */
static inline bool is_opaque(const ZydisDecodedInstruction *i) {
	return i->mnemonic == ZYDIS_MNEMONIC_INVALID;
}

/** After Zydis failed: leaves the length in `*i`. */
static inline bool decode_opaque(ZydisDecodedInstruction *i, const uint8_t *bytes, size_t n) {
	size_t length = evex_bytes(bytes, n);
	*i = (ZydisDecodedInstruction){.mnemonic = ZYDIS_MNEMONIC_INVALID, .length = (uint8_t)length};
	return length != 0;
}

/** False: it cannot be decoded. The caller checks for the function's end. */
static inline bool instructions_read(struct instructions *d) {
	const uint8_t *bytes = d->f->bytes + d->at;
	size_t n = d->f->n_bytes - d->at;
	if (!ZYAN_SUCCESS(ZydisDecoderDecodeFull(&d->decoder, bytes, n, &d->i, d->operands)) &&
			!decode_opaque(&d->i, bytes, n)) {
		return false;
	}
	d->address = d->f->address + d->at;
	d->at += d->i.length;
	d->next = d->f->address + d->at;
	return true;
}

/** The same, within the function. */
static inline bool instructions_next(struct instructions *d) {
	return d->at < d->f->size && instructions_read(d);
}

/** Does it jump or call relative to its own place? Then `*target` is the target. */
static inline bool is_branch(const struct instructions *d, uint64_t *target) {
	const ZydisDecodedOperand *first = &d->operands[0];
	if (d->i.operand_count_visible == 0 || first->type != ZYDIS_OPERAND_TYPE_IMMEDIATE ||
			!first->imm.is_relative) {
		return false;
	}
	*target = d->next + (uint64_t)first->imm.value.s;
	return true;
}

/** Does the code end with it? */
static inline bool is_last(const struct instructions *d) {
	return d->i.mnemonic == ZYDIS_MNEMONIC_JMP || d->i.mnemonic == ZYDIS_MNEMONIC_RET;
}

/** The length of an endbr64 at the beginning; 0: there is none. */
static inline size_t endbr64_bytes(const uint8_t *bytes, size_t n) {
	static const uint8_t endbr64[] = {0xf3, 0x0f, 0x1e, 0xfa};
	return n >= sizeof endbr64 && memcmp(bytes, endbr64, sizeof endbr64) == 0 ? sizeof endbr64 : 0;
}
