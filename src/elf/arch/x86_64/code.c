// SPDX-License-Identifier: MIT
/*
 * What returns a constant, in x86-64's instructions.
 *
 * Compilers write such a function as one load of an address between a prologue and its undoing:
 *
 *   [endbr64] [push %rbp; mov %rsp,%rbp] lea TEXT(%rip),%rax [pop %rbp | leave] ret
 *
 * without position-independent code as mov $TEXT. What differs by a byte is another function.
 */
#include "elf/arch/code.h"

const uint16_t elf_machine = EM_X86_64;

static void step(struct slice *code, size_t n) {
	*code = slice_of(code->data + n, code->size - n);
}

/** Step over these bytes, if they come next. */
static bool take(struct slice *code, const char *bytes) {
	struct slice wanted = slice_of_text(bytes);
	if (code->size < wanted.size || memcmp(code->data, wanted.data, wanted.size) != 0) {
		return false;
	}
	step(code, wanted.size);
	return true;
}

static bool take_number(struct slice *code, void *out, size_t n) {
	if (code->size < n) {
		return false;
	}
	memcpy(out, code->data, n);
	step(code, n);
	return true;
}

/** lea near(%rip),%rax, then perhaps mov (%rax),%rax; or mov near(%rip),%rax. Or to %eax. */
static bool take_relative(struct slice *code, uint64_t at, uint64_t *address, bool *is_loaded) {
	const uint8_t *start = code->data;
	uint8_t from = 0;
	int32_t near;
	*is_loaded = take(code, "\x48\x8b\x05") || take(code, "\x8b\x05");
	if ((!*is_loaded && !take(code, "\x48\x8d\x05")) || !take_number(code, &near, sizeof near)) {
		return false;
	}
	// Counted from the end of the instruction
	*address = at + (uint64_t)(code->data - start) + (uint64_t)(int64_t)near;
	bool loads_from = !*is_loaded && (take(code, "\x48\x8b") || take(code, "\x8b"));
	*is_loaded |= loads_from;
	return !loads_from || (take_number(code, &from, sizeof from) && from == 0); // (%rax)
}

/** The address itself. Only in programs that are never moved. */
static bool take_absolute(struct slice *code, uint64_t *address) {
	int32_t near;
	uint32_t low;
	if (take(code, "\x48\xc7\xc0")) { // mov $near,%rax
		bool ok = take_number(code, &near, sizeof near);
		*address = ok ? (uint64_t)(int64_t)near : 0;
		return ok;
	}
	if (take(code, "\xb8")) { // mov $low,%eax
		bool ok = take_number(code, &low, sizeof low);
		*address = ok ? low : 0;
		return ok;
	}
	return take(code, "\x48\xb8") && take_number(code, address, sizeof *address); // movabs
}

bool elf_returned_address(struct slice code, uint64_t at, bool is_fixed, uint64_t *address,
		bool *is_loaded) {
	const uint8_t *start = code.data;
	(void)take(&code, "\xf3\x0f\x1e\xfa"); // endbr64
	bool has_frame = take(&code, "\x55");  // push %rbp, then mov %rsp,%rbp in one of two ways
	if (has_frame && !take(&code, "\x48\x89\xe5") && !take(&code, "\x48\x8b\xec")) {
		return false;
	}
	if (!take_relative(&code, at + (uint64_t)(code.data - start), address, is_loaded) &&
			(!is_fixed || !take_absolute(&code, address))) {
		return false;
	}
	if (has_frame && !take(&code, "\x5d") && !take(&code, "\xc9")) { // pop %rbp, leave
		return false;
	}
	return take(&code, "\xc3") || take(&code, "\xf3\xc3"); // ret
}
