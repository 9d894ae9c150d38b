// SPDX-License-Identifier: MIT
#pragma once
/**
 * Tables as columns of numbers: docs/trace-format.md, "Tables". One description of a table drives
 * its encoder and its decoder.
 */

#include "base/base.h"

/** How a column stores the field v of a row. The letters are those of the specification. */
enum column_way {
	COLUMN_PLAIN,   // P
	COLUMN_DELTA,   // D
	COLUMN_AFTER,   // A(by)
	COLUMN_BACK,    // B
	COLUMN_PRODUCT, // X(by)
	COLUMN_UNTIL,   // U(by)
	COLUMN_HIGH,    // H
	COLUMN_LOW,     // L
	COLUMN_ID,      // I; `by` is the length's field, one byte
};

/** A difference as an unsigned number: 0, -1, 1, -2 ... become 0, 1, 2, 3 ... */
static inline uint64_t zigzag(uint64_t difference) {
	return difference << 1 ^ -(difference >> 63);
}

static inline uint64_t unzigzag(uint64_t stored) {
	return stored >> 1 ^ -(stored & 1);
}

struct table_raw;

struct column {
	uint8_t id; // rises within a table
	uint8_t way;
	uint8_t width; // of the field: 1, 2, 4 or 8 bytes; COLUMN_ID: its capacity
	uint16_t offset;
	uint16_t by; // offset of another field
	uint8_t by_width;
};

struct table {
	uint32_t id;
	const char *name;
	size_t row_bytes;
	const struct column *columns;
	size_t n_columns;
	/** For COLUMN_PRODUCT: of n rows. `user` is what encode or decode was given. */
	void (*units)(uint64_t *out, const void *user, const void *rows, size_t n);
	/**
	 * For rows that are kept in another form than is described here; else NULL. get: n of them from
	 * number `first` on. decode: as table_decode, to where user keeps them.
	 */
	void (*get)(void *rows, const void *user, uint64_t first, size_t n);
	bool (*decode)(const struct table_raw *raw, const struct table *t, void *user, struct err *err);
	size_t kept_bytes; // of a row as it is kept; 0: row_bytes
};

static inline size_t table_kept_bytes(const struct table *t) {
	return t->kept_bytes ? t->kept_bytes : t->row_bytes;
}

/**
 * Append n rows as one table; the first of them, at `rows`, has the number `first`. (With t->get,
 * `rows` is not used.)
 */
void table_encode(struct buffer *out, const struct table *t, const void *rows, uint64_t first,
		uint64_t n, const void *user);

/** A table as it lies in a payload. Its slices are borrowed from there. */
struct table_raw {
	uint32_t id;
	uint64_t first, n;
	struct slice columns;
};

/**
 * The next table of a payload. False with `err` untouched at the end; with err->code set if torn.
 */
bool table_next(struct table_raw *out, struct cursor *payload, struct err *err);

/**
 * Decode all rows into `rows` (raw->n zeroed rows; the memory of row raw->first is first), or by
 * t->decode. Never writes beyond them whatever the bytes are.
 */
bool table_decode(const struct table_raw *raw, const struct table *t, void *rows, void *user,
		struct err *err);

/** Where each column of t begins and ends: out[t->n_columns]. Empty: it is missing, all zeros. */
bool table_columns(struct cursor *out, const struct table_raw *raw, const struct table *t,
		struct err *err);

/** True if the announced rows can be in there at all: ask before taking memory for them. */
bool table_count_is_possible(const struct table_raw *raw);

// For tables with columns of other kinds (strings, events)

/** Marks for the two lengths that are known only afterwards. */
size_t table_begin(struct buffer *out, uint32_t id, uint64_t first, uint64_t n);
size_t table_column_begin(struct buffer *out, uint8_t id);
void table_end(struct buffer *out, size_t mark); // of the table or of the column

/** A column by its id; an empty slice if it is missing. Torn ones are empty too. */
struct slice table_column(const struct table_raw *raw, uint32_t id);
