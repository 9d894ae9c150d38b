// SPDX-License-Identifier: MIT
#include "symbols/ahead.h"

#include "base/cursor.h"

#include <dwarf.h>

enum { WIDE_LENGTH = UINT32_MAX, RANGES_VERSION = 2, ADDRESS_BYTES = 8 };

/** The pcs in a range of code are those of this unit, if they have no earlier one. */
static void note_range(uint64_t start, uint64_t length, uint64_t unit, const uint64_t *pcs,
		size_t n, uint64_t *units) {
	size_t low = 0, high = n;
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (pcs[middle] < start) {
			low = middle + 1;
		} else {
			high = middle;
		}
	}
	for (size_t i = low; i < n && pcs[i] - start < length; i++) {
		units[i] = unit < units[i] ? unit : units[i];
	}
}

/** The ranges of one unit; `set` ends where they do. */
static void note_set(struct cursor set, bool is_wide, size_t header_bytes, const uint64_t *pcs,
		size_t n, uint64_t *units) {
	const uint8_t *start = set.at;
	bool is_known = (cursor_u8(&set) | cursor_u8(&set) << 8) == RANGES_VERSION;
	uint64_t unit = is_wide ? cursor_u64(&set) : cursor_u32(&set);
	uint8_t address_bytes = cursor_u8(&set);
	uint8_t segment_bytes = cursor_u8(&set);
	if (!is_known || address_bytes != ADDRESS_BYTES || segment_bytes != 0) {
		return;
	}
	// The ranges are aligned, counted from the beginning of the set, to their size
	size_t bytes = header_bytes + (size_t)(set.at - start);
	(void)cursor_bytes(&set, -bytes & (2 * ADDRESS_BYTES - 1));
	while (cursor_left(&set) >= 2 * ADDRESS_BYTES) {
		uint64_t from = cursor_u64(&set);
		uint64_t length = cursor_u64(&set);
		note_range(from, length, unit, pcs, n, units);
	}
}

void ahead_units(struct slice aranges, const uint64_t *pcs, size_t n, uint64_t *units) {
	for (size_t i = 0; i < n; i++) {
		units[i] = AHEAD_NONE;
	}
	struct cursor c = cursor_init(aranges);
	while (cursor_left(&c) > 0 && !c.failed) {
		uint64_t length = cursor_u32(&c);
		bool is_wide = length == WIDE_LENGTH;
		length = is_wide ? cursor_u64(&c) : length;
		if (length <= cursor_left(&c)) {
			struct slice set = cursor_bytes(&c, (size_t)length);
			note_set(cursor_init(set), is_wide, is_wide ? 12 : 4, pcs, n, units);
		} else {
			c.failed = true;
		}
	}
}

/** May an attribute of this form point out of its unit, or is that not known? */
static bool is_open(uint64_t form) {
	return form == DW_FORM_ref_addr || form == DW_FORM_ref_sig8 || form == DW_FORM_indirect;
}

enum ahead_reach ahead_abbreviations(struct slice abbrev, uint64_t at) {
	struct cursor c = cursor_init(abbrev);
	(void)cursor_bytes(&c, at < abbrev.size ? (size_t)at : abbrev.size);
	while (cursor_varint(&c) != 0) {
		(void)cursor_varint(&c); // tag
		(void)cursor_u8(&c);     // has children
		uint64_t name, form;
		do {
			name = cursor_varint(&c);
			form = cursor_varint(&c);
			if (form == DW_FORM_implicit_const) {
				(void)cursor_varint(&c);
			}
			if (is_open(form)) {
				return AHEAD_OPEN;
			}
		} while (name != 0 || form != 0);
	}
	return c.failed ? AHEAD_CUT : AHEAD_CLOSED;
}
