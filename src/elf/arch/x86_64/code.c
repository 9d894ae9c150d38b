// SPDX-License-Identifier: MIT
/*
 * Functions that return a constant, and targets of jumps, in x86-64's instructions.
 *
 * Compilers write such a function as one load of an address between prologue and epilogue:
 *
 *   [endbr64] [push %rbp; mov %rsp,%rbp] lea TEXT(%rip),%rax [pop %rbp | leave] ret
 *
 * or without position-independent code, mov $TEXT. What differs by a byte is another function.
 */
#include "elf/arch/code.h"

const uint16_t elf_machine = EM_X86_64;

static bool take_number(struct slice *code, void *out, size_t n) {
	if (code->size < n) {
		return false;
	}
	memcpy(out, code->data, n);
	*code = slice_of(code->data + n, code->size - n);
	return true;
}

/** lea near(%rip),%rax, then perhaps mov (%rax),%rax; or mov near(%rip),%rax. Or to %eax. */
static bool take_relative(struct slice *code, uint64_t at, uint64_t *address, bool *is_loaded) {
	const uint8_t *start = code->data;
	uint8_t from = 0;
	int32_t near;
	*is_loaded = take_prefix(code, "\x48\x8b\x05") || take_prefix(code, "\x8b\x05");
	if ((!*is_loaded && !take_prefix(code, "\x48\x8d\x05")) ||
			!take_number(code, &near, sizeof near)) {
		return false;
	}
	// Relative to the end of the instruction
	*address = at + (uint64_t)(code->data - start) + (uint64_t)(int64_t)near;
	bool loads_from = !*is_loaded && (take_prefix(code, "\x48\x8b") || take_prefix(code, "\x8b"));
	*is_loaded |= loads_from;
	return !loads_from || (take_number(code, &from, sizeof from) && from == 0); // (%rax)
}

/** The address itself, only in programs that never move. */
static bool take_absolute(struct slice *code, uint64_t *address) {
	int32_t near = 0;
	*address = 0;
	if (take_prefix(code, "\xb8")) { // mov $low,%eax
		return take_number(code, address, sizeof near);
	}
	if (take_prefix(code, "\x48\xb8")) { // movabs
		return take_number(code, address, sizeof *address);
	}
	bool ok = take_prefix(code, "\x48\xc7\xc0") && take_number(code, &near, sizeof near);
	*address = (uint64_t)(int64_t)near; // mov $near,%rax
	return ok;
}

bool elf_returned_address(struct slice code, uint64_t at, bool is_fixed, uint64_t *address,
		bool *is_loaded) {
	const uint8_t *start = code.data;
	(void)take_prefix(&code, "\xf3\x0f\x1e\xfa"); // endbr64
	bool has_frame = take_prefix(&code, "\x55"); // push %rbp, then mov %rsp,%rbp in either encoding
	return (!has_frame || take_prefix(&code, "\x48\x89\xe5") ||
				   take_prefix(&code, "\x48\x8b\xec")) &&
			(take_relative(&code, at + (uint64_t)(code.data - start), address, is_loaded) ||
					(is_fixed && take_absolute(&code, address))) &&
			(!has_frame || take_prefix(&code, "\x5d") ||
					take_prefix(&code, "\xc9")) &&                          // pop, leave
			(take_prefix(&code, "\xc3") || take_prefix(&code, "\xf3\xc3")); // ret
}

bool elf_next_jump(const struct elf_code *code, size_t *i, uint64_t *target) {
	enum { JUMP = 0xe9, TWO_BYTES = 0x0f, JUMP_IF = 0x80, DISTANCE = 4 };
	while (*i + DISTANCE < code->bytes.size) {
		const uint8_t *byte = code->bytes.data + (*i)++;
		bool is_if = byte[0] == TWO_BYTES && (byte[1] & 0xf0) == JUMP_IF;
		if ((is_if && *i + DISTANCE < code->bytes.size) || byte[0] == JUMP) {
			int32_t distance;
			memcpy(&distance, byte + 1 + is_if, sizeof distance);
			*target = code->address + *i + is_if + DISTANCE + (uint64_t)(int64_t)distance;
			return true;
		}
	}
	return false;
}
