// SPDX-License-Identifier: MIT
#include "elf/image.h"

#include <elf.h>

// Everything that can be asked of an ELF image, on any bytes.

static volatile size_t sink;

static void read_symbols(const struct elf_image *e, uint32_t type) {
	struct elf_symbols symbols = elf_symbols_of(e, type);
	for (struct elf_symbol s; elf_symbols_next(&symbols, &s);) {
		sink += strlen(s.name);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
	struct elf_image e;
	if (!elf_image_init(&e, slice_of(data, size))) {
		return 0;
	}
	struct elf_section section;
	for (uint32_t i = 0; elf_section_at(&e, i, &section); i++) {
		struct slice bytes = section.bytes;
		sink += strlen(section.name) + (bytes.size ? bytes.data[bytes.size - 1] : 0);
	}
	struct elf_segment segment;
	for (uint32_t i = 0; elf_segment_next(&e, PT_LOAD, &i, &segment);) {
		sink += segment.address;
	}
	read_symbols(&e, SHT_SYMTAB);
	read_symbols(&e, SHT_DYNSYM);
	const char *text;
	uint32_t crc;
	struct slice id = elf_build_id(&e);
	sink += id.size ? id.data[id.size - 1] : 0;
	sink += elf_debug_link(&e, &text, &crc) ? strlen(text) : 0;
	sink += elf_alternate_link(&e, &text, &id) ? strlen(text) : 0;
	sink += elf_first_code_address(&e);
	sink += elf_returned_text(&e, "main", &id) && id.size ? id.data[id.size - 1] : 0;
	return 0;
}
