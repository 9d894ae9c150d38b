// SPDX-License-Identifier: MIT

/*
 * Compilers write such a function as one load of an address between a prologue and its undoing:
 *
 *   [endbr64] [push %rbp; mov %rsp,%rbp] lea TEXT(%rip),%rax [pop %rbp | leave] ret
 *
 * without position-independent code as mov $TEXT. What differs by a byte is another function.
 */

#include "elf/returned_text.h"

#include <elf.h>

enum { TEXT_MAX_BYTES = 1 << 20 };

/** Bytes of a segment with these flags that cannot be written to. */
static struct slice bytes_from(const struct elf_image *e, uint64_t address, uint32_t flags) {
	struct elf_segment s;
	struct slice bytes = elf_bytes_from(e, address, &s);
	return bytes.size > 0 && (s.flags & (flags | PF_W)) == flags ? bytes : (struct slice){0};
}

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

/** lea near(%rip),%rax; `code` stands at address `at`. */
static bool take_relative(struct slice *code, uint64_t at, uint64_t *address) {
	int32_t near;
	if (!take(code, "\x48\x8d\x05") || !take_number(code, &near, sizeof near)) {
		return false;
	}
	*address = at + 7 + (uint64_t)(int64_t)near; // counted from the end of the instruction
	return true;
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

/** The address that the function at `at` returns. */
static bool returned_address(const struct elf_image *e, uint64_t at, uint64_t *address) {
	struct slice code = bytes_from(e, at, PF_X);
	const uint8_t *start = code.data;
	(void)take(&code, "\xf3\x0f\x1e\xfa"); // endbr64
	bool has_frame = take(&code, "\x55");  // push %rbp, then mov %rsp,%rbp in one of two ways
	if (has_frame && !take(&code, "\x48\x89\xe5") && !take(&code, "\x48\x8b\xec")) {
		return false;
	}
	if (!take_relative(&code, at + (uint64_t)(code.data - start), address) &&
			(e->type != ET_EXEC || !take_absolute(&code, address))) {
		return false;
	}
	if (has_frame && !take(&code, "\x5d") && !take(&code, "\xc9")) { // pop %rbp, leave
		return false;
	}
	return take(&code, "\xc3") || take(&code, "\xf3\xc3"); // ret
}

static bool text_of(const struct elf_image *e, uint64_t function, struct slice *out) {
	uint64_t address;
	if (!returned_address(e, function, &address)) {
		return false;
	}
	struct slice rest = bytes_from(e, address, PF_R);
	size_t limit = rest.size < TEXT_MAX_BYTES ? rest.size : TEXT_MAX_BYTES;
	const uint8_t *end = limit ? memchr(rest.data, 0, limit) : NULL;
	*out = slice_of(rest.data, end ? (size_t)(end - rest.data) : 0);
	return end != NULL;
}

static bool find_in(const struct elf_image *e, uint32_t table, const char *function,
		struct slice *out) {
	struct elf_symbols symbols;
	struct elf_symbol s;
	// Most files do not even have the name: to look for that is quicker than symbol by symbol
	if (!elf_symbols_init(&symbols, e, table) || symbols.names.size == 0 ||
			!memmem(symbols.names.data, symbols.names.size, function, strlen(function) + 1)) {
		return false;
	}
	while (elf_symbols_next(&symbols, &s)) {
		if (s.type == STT_FUNC && s.section != SHN_UNDEF && strcmp(s.name, function) == 0) {
			return text_of(e, s.address, out);
		}
	}
	return false;
}

bool elf_returned_text(const struct elf_image *e, const char *function, struct slice *out) {
	return e->machine == EM_X86_64 &&
			(find_in(e, SHT_DYNSYM, function, out) || find_in(e, SHT_SYMTAB, function, out));
}
