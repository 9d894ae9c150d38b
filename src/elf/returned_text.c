// SPDX-License-Identifier: MIT
/* Finds the function among the symbols, and the text where the address that it returns is. */
#include "elf/returned_text.h"

#include "elf/arch/code.h"

#include <elf.h>

enum { TEXT_MAX_BYTES = 1 << 20 };

/** Bytes of a segment with these flags that cannot be written to. */
static struct slice bytes_from(const struct elf_image *e, uint64_t address, uint32_t flags) {
	struct elf_segment s;
	struct slice bytes = elf_bytes_from(e, address, &s);
	return bytes.size > 0 && (s.flags & (flags | PF_W)) == flags ? bytes : (struct slice){0};
}

static bool text_of(const struct elf_image *e, uint64_t function, struct slice *out) {
	uint64_t address;
	struct slice code = bytes_from(e, function, PF_X);
	if (!elf_returned_address(code, function, e->type == ET_EXEC, &address)) {
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
	while (elf_symbols_find(&symbols, function, &s)) {
		if (s.type == STT_FUNC) {
			return text_of(e, s.address, out);
		}
	}
	return false;
}

bool elf_returned_text(const struct elf_image *e, const char *function, struct slice *out) {
	return e->machine == elf_machine &&
			(find_in(e, SHT_DYNSYM, function, out) || find_in(e, SHT_SYMTAB, function, out));
}
