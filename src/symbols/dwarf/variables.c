// SPDX-License-Identifier: MIT
/*
 * Finds the DIEs of variables by their addresses. No table says which unit a variable is in, and
 * reading all units takes long. But a DIE locates its variable with one of these expressions:
 *
 *   9  DW_OP_addr  address      the length, the operation, 8 bytes
 *   n  DW_OP_addrx  number      of an address in .debug_addr: clang's DWARF 5, and split units
 *
 * So a unit's bytes are searched for them; a hit only counts if the DIE around it proves it.
 */
#include "symbols/dwarf/unit.h"

/** The address of an expression, which follows its length; 0: not such an expression. */
static uint64_t address_of(struct cursor c, struct slice addresses) {
	struct cursor expression = cursor_init(cursor_sized(&c));
	const uint8_t operation = cursor_u8(&expression);
	const uint64_t address = operation == DW_OP_addr
			? cursor_u64(&expression)
			: split_address_at(addresses, cursor_varint(&expression));
	return c.failed || expression.failed || cursor_left(&expression) ? 0 : address;
}

/** A unit from its first DIE on, up to the end of the file if its length is damaged. */
static struct slice bytes_of(Dwarf_Die *die) {
	const size_t head_bytes = dwarf_cuoffset(die);
	struct cursor c = cursor_init(slice_of((const uint8_t *)die->addr - head_bytes, head_bytes));
	uint64_t length = cursor_u32(&c);
	size_t file_bytes = 0;
	length = length == UINT32_MAX ? cursor_u64(&c) + 12 : length + 4;
	const char *file = elf_rawfile(dwarf_getelf(dwarf_cu_getdwarf(die->cu)), &file_bytes);
	const size_t at = (size_t)((const char *)die->addr - file), most = file_bytes - at;
	const size_t bytes = length > head_bytes ? length - head_bytes : 0;
	return slice_of(die->addr, at >= file_bytes ? 0 : bytes < most ? bytes : most);
}

void variables_search(struct variables *v, struct unit *unit, struct slice addresses,
		const struct symbol_table *table) {
	const struct slice all = bytes_of(&unit->tree_die);
	const Dwarf_Off at_unit = dwarf_dieoffset(&unit->lines_die);
	v->cost += all.size;
	for (size_t i = 0; i + 1 < all.size; i++) {
		const uint8_t operation = all.data[i + 1];
		if (all.data[i] > 9 ||
				(operation != DW_OP_addr && operation != DW_OP_addrx &&
						operation != DW_OP_GNU_addr_index)) {
			continue;
		}
		const struct cursor at = cursor_init(slice_of(all.data + i, all.size - i));
		const uint64_t address = address_of(at, addresses);
		const struct symbol_entry *e = symbol_table_find(table, address);
		if (e && e->start == address) {
			(void)vec_add(v, (struct variable){address, at_unit, i});
		}
	}
}

bool variables_find(struct variables *v, size_t number, struct unit *unit, Dwarf_Die *out) {
	enum { DEPTH_MAX = 100, COST = 8 };
	const size_t at = v->items[number].at;
	Dwarf_Attribute location;
	Dwarf_Die child;
	*out = unit->tree_die;
	const Dwarf_Off target = dwarf_dieoffset(out) + at;
	v->cost += COST * bytes_of(out).size;
	for (int depth = 0; depth < DEPTH_MAX && die_child_towards(out, target, &child); depth++) {
		*out = child;
	}
	return dwarf_tag(out) == DW_TAG_variable && dwarf_attr(out, DW_AT_location, &location) &&
			location.valp == (const uint8_t *)unit->tree_die.addr + at;
}
