// SPDX-License-Identifier: MIT
#pragma once
/**
 * What encoding and decoding a column of a table have in common.
 *
 * Rows are gone through a few at a time, so that they stay in the cache. Of a column: fields of
 * rows to numbers, then numbers to what the column stores, then bytes; and back. Each step is a
 * plain loop: what is the same for all rows is decided before it.
 */

#include "trace/tables/table.h"

enum { ROWS_AT_ONCE = 256, BYTES_AT_ONCE = 16 << 10, COLUMNS_MAX = 32 };

static inline size_t rows_at_once(const struct table *t) {
	size_t n = BYTES_AT_ONCE / t->row_bytes;
	return n < ROWS_AT_ONCE ? n : ROWS_AT_ONCE;
}

static inline uint64_t low_bits(unsigned width) {
	return width == 8 ? UINT64_MAX : (1ull << 8 * width) - 1;
}

/** A column on its way through the rows. */
struct walk {
	const struct table *t;
	const struct column *column;
	const void *user;
	uint64_t previous;
};

#define LOAD_EACH(type)                                \
	for (size_t i = 0; i < n; i++, row += row_bytes) { \
		out[i] = *(const type *)(const void *)row;     \
	}

/** The fields of n rows. */
static inline void load_all(uint64_t *out, const uint8_t *row, size_t row_bytes, unsigned width,
		size_t n) {
	switch (width) {
	case 1: LOAD_EACH(uint8_t) break;
	case 2: LOAD_EACH(uint16_t) break;
	case 4: LOAD_EACH(uint32_t) break;
	default: LOAD_EACH(uint64_t) break;
	}
}

/** What the numbers of a column are relative to: another field, times the rows' units. */
static inline void load_others(const struct walk *w, uint64_t *out, const uint8_t *row, size_t n) {
	load_all(out, row + w->column->by, w->t->row_bytes, w->column->by_width, n);
	if (w->column->way == COLUMN_PRODUCT) {
		uint64_t units[ROWS_AT_ONCE];
		w->t->units(units, w->user, row, n);
		for (size_t i = 0; i < n; i++) {
			out[i] *= units[i];
		}
	}
}
