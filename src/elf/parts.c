// SPDX-License-Identifier: MIT
/*
 * Compilers move what a function rarely executes far away (.cold), where it has unwind tables of
 * its own but no symbol in a stripped file. The two parts jump into each other's middle, whereas
 * tail calls jump to a function's start.
 */
#include "elf/arch/code.h"

/** From the table of .eh_frame_hdr: code's start, and its record, both relative to the header. */
static bool code_at(const struct elf_image *e, uint64_t address, struct elf_code *out) {
	enum { HEAD = 12, START_IN_RECORD = 8 };
	static const uint8_t encodings[] = {1, 0x1b, 0x03, 0x3b}; // the ones that all linkers write
	struct elf_segment s = elf_segment_of(e, PT_GNU_EH_FRAME);
	struct slice table = elf_segment_bytes(e, &s);
	int32_t row[2], found[2] = {0};
	if (table.size < HEAD || memcmp(table.data, encodings, sizeof encodings) != 0) {
		return false;
	}
	for (size_t from = 0, to = (table.size - HEAD) / sizeof row; from < to;) {
		size_t middle = from + (to - from) / 2;
		memcpy(row, table.data + HEAD + middle * sizeof row, sizeof row);
		bool is_before = s.address + (uint64_t)(int64_t)row[0] <= address;
		*(is_before ? &from : &to) = middle + is_before;
		memcpy(found, is_before ? row : found, sizeof found);
	}
	uint64_t record = s.address + (uint64_t)(int64_t)found[1];
	struct cursor c = cursor_init(elf_bytes_from(e, record, NULL));
	(void)cursor_bytes(&c, START_IN_RECORD);
	out->address = record + START_IN_RECORD + (uint64_t)(int64_t)(int32_t)cursor_u32(&c);
	out->bytes = elf_bytes_from(e, out->address, NULL);
	uint32_t size = cursor_u32(&c);
	out->bytes.size = size < out->bytes.size ? size : out->bytes.size;
	return !c.failed && address - out->address < out->bytes.size;
}

/** Into its middle, or if that is not asked for, to its start, too. */
static bool jumps_to(const struct elf_code *from, const struct elf_code *to, bool is_midst) {
	uint64_t target;
	size_t i = 0;
	return SOME(elf_next_jump(from, &i, &target),
			target - to->address < to->bytes.size && (!is_midst || target != to->address));
}

bool elf_other_part(const struct elf_image *e, struct map *known, uint64_t address,
		struct elf_code *out) {
	enum { NONE = 1 };
	struct elf_code code;
	uint64_t target;
	size_t i = 0;
	if (e->machine != elf_machine || !code_at(e, address, &code)) {
		return false;
	}
	uint64_t part = known ? map_get(known, code.address) : 0;
	if (part) {
		return part != NONE && code_at(e, part, out);
	}
	bool is_found = SOME(elf_next_jump(&code, &i, &target),
			target - code.address >= code.bytes.size && code_at(e, target, out) &&
					jumps_to(out, &code, target == out->address));
	(void)(known && map_put(known, code.address, is_found ? out->address : NONE));
	return is_found;
}
