// SPDX-License-Identifier: MIT
/* Determines which units must be read, from address tables, without elfutils. */
#include "symbols/dwarf/unit.h"

enum { WIDE_LENGTH = UINT32_MAX, RANGES_VERSION = 2, ADDRESS_BYTES = 8 };

struct wanted {
	const uint64_t *pcs;
	size_t n;
	uint64_t *units;
	size_t n_left; // how many more pcs may be found in ranges
};

enum { RANGES_PER_PC = 64 }; // one or two in all but hostile files

/** Assign the pcs in a range of code to this unit, unless they have an earlier one. */
static void note_range(struct wanted *w, uint64_t start, uint64_t length, uint64_t unit) {
	for (size_t i = sorted_first(w->pcs, w->n, start);
			i < w->n && w->pcs[i] - start < length && w->n_left > 0; i++) {
		w->units[i] = unit < w->units[i] ? unit : w->units[i];
		w->n_left--;
	}
}

/** Note the ranges of one unit, to the end of `set`. */
static void note_set(struct wanted *w, struct cursor set, bool is_wide) {
	const size_t length_bytes = is_wide ? 12 : 4;
	const uint8_t *start = set.at;
	bool is_known = (cursor_u8(&set) | cursor_u8(&set) << 8) == RANGES_VERSION;
	uint64_t unit = is_wide ? cursor_u64(&set) : cursor_u32(&set);
	uint8_t address_bytes = cursor_u8(&set);
	uint8_t segment_bytes = cursor_u8(&set);
	if (!is_known || address_bytes != ADDRESS_BYTES || segment_bytes != 0) {
		return;
	}
	// Ranges are aligned to their size, relative to the set
	size_t bytes = length_bytes + (size_t)(set.at - start);
	(void)cursor_bytes(&set, -bytes & (2 * ADDRESS_BYTES - 1));
	while (cursor_left(&set) >= 2 * ADDRESS_BYTES && w->n_left > 0) {
		uint64_t from = cursor_u64(&set), length = cursor_u64(&set);
		note_range(w, from, length, unit);
	}
}

bool ahead_units(struct slice aranges, const uint64_t *pcs, size_t n, uint64_t *units) {
	for (size_t i = 0; i < n; i++) {
		units[i] = AHEAD_NONE;
	}
	struct wanted w = {pcs, n, units, (n + 1) * RANGES_PER_PC};
	struct cursor c = cursor_init(aranges);
	while (cursor_left(&c) > 0 && !c.failed) {
		uint64_t length = cursor_u32(&c);
		bool is_wide = length == WIDE_LENGTH;
		length = is_wide ? cursor_u64(&c) : length;
		if (length <= cursor_left(&c)) {
			note_set(&w, cursor_init(cursor_bytes(&c, (size_t)length)), is_wide);
		} else {
			c.failed = true;
		}
	}
	return w.n_left > 0;
}
