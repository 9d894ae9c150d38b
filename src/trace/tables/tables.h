// SPDX-License-Identifier: MIT
#pragma once
/** The tables of a recording as they are in a file: docs/trace-format.md. */

#include "trace/recording.h"

// ---- tables as columns of numbers: docs/trace-format.md, "Tables"
//
// One description of a table drives its encoder and its decoder.

/** How a column stores the field v of a row; the letters are the specification's. */
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
	uint16_t unit; // for COLUMN_PRODUCT: offset of the row's unit
	uint8_t unit_width;
	/**
	 * For rows kept in another form than described here; else NULL. get: copy n of them from number
	 * `first` on. put: store them; their units are 0. False: beyond max_bytes.
	 */
	void (*get)(void *rows, const void *user, uint64_t first, size_t n);
	bool (*put)(const void *rows, void *user, uint64_t first, size_t n);
	size_t kept_bytes; // of a row as kept; 0: row_bytes
};

/** Append n rows as one table. `rows` is the first (unused with t->get); its number is `first`. */
void table_encode(struct buffer *out, const struct table *t, const void *rows, uint64_t first,
		uint64_t n, const void *user);

/** A table in a payload, from which its slices are borrowed. */
struct table_raw {
	uint32_t id;
	uint64_t first, n;
	struct slice columns;
};

/** The next table of a payload. False: at the end, or torn (payload->failed, with `err`). */
bool table_next(struct table_raw *out, struct cursor *payload, struct err *err);

/** Decode into `rows`, raw->n zeroed rows, or t->put. Safe for any bytes: writes nothing beyond. */
bool table_decode(const struct table_raw *raw, const struct table *t, void *rows, void *user,
		struct err *err);

/** Can the announced rows be in there at all? Check before allocating. */
bool table_count_is_possible(const struct table_raw *raw);

// For tables with other kinds of columns (strings, events)

/** Return marks for the two lengths, which are only known afterwards. */
size_t table_begin(struct buffer *out, uint32_t id, uint64_t first, uint64_t n);
size_t table_column_begin(struct buffer *out, uint8_t id);
void table_end(struct buffer *out, size_t mark); // of the table or of the column

/** A column by its id; empty if missing or torn. */
struct slice table_column(const struct table_raw *raw, uint32_t id);

// ---- the tables of a recording

/** Tables of their own kinds; all other numbers are only in registry.def. */
enum {
	TABLE_STRINGS = 1, // log.c
	TABLE_EVENTS = 50, // events/encode.c
};

enum strings_column { STRINGS_LENGTH = 1, STRINGS_BYTES = 2 };

/** Gives a location its frames. */
struct name_row {
	uint32_t location, first_frame;
	uint16_t n_frames;
};

/** How many rows of each log table belong to a state. */
struct counts_row {
	uint32_t strings, locations, frames, nodes;
};

/** What an allocation in an event block consists of. */
struct info_row {
	uint32_t node, size;
};

/** The state of the event stream before a block. */
struct start_row {
	uint64_t allocations, time_ns;
};

extern const struct table table_locations, table_frames, table_nodes, table_names; // log
extern const struct table table_counts;
extern const struct table table_infos, table_start; // events

/** A table of the state and its place in struct recording. */
struct state_table {
	struct table table;
	size_t offset;  // of the struct (is_single) or of the REC_TABLE
	bool is_single; // exactly one row, in place
};
extern const struct state_table state_tables[];
extern const size_t n_state_tables;

// ---- contents of blocks and slots: pieces of the log, and states

/** How much of the log has been written, and which locations have names there. */
struct log_marks {
	struct counts_row counts;
	VEC(uint8_t) named; // a bit per location
};

/** A piece of the log being written; it counts after log_piece_done. */
struct log_piece {
	struct counts_row counts; // after it
	VEC(struct name_row) names;
};

/** Encode the next bounded piece of what `r` has and the log lacks; repeat until `out` is empty. */
void log_encode(struct buffer *out, struct log_piece *piece, const struct log_marks *marks,
		const struct recording *r);

/** Mark a piece as written. Requires room. */
void log_piece_done(struct log_marks *marks, const struct log_piece *piece);

/** Reads the log into `out`, whose log tables have room for `want` rows. */
struct log_reader {
	struct recording *out;
	struct counts_row want, have;
};

/** Allocate `want` rows in r's arena. `log_bytes`: the unpacked size of the log. */
bool log_reader_init(struct log_reader *l, struct recording *out, struct counts_row want,
		uint64_t log_bytes, struct err *err);
bool log_decode(struct log_reader *l, struct slice payload, struct err *err);

/** Does the log hold all that was wanted? Call after the last piece. */
bool log_reader_is_done(const struct log_reader *l, struct err *err);

void state_encode(struct buffer *out, const struct recording *r);

/** Decode the state's first table. */
bool state_counts(struct counts_row *out, struct slice payload, struct err *err);

/** Decode the other tables into r's arena. */
bool state_decode(struct recording *out, struct slice payload, struct err *err);

// ---- what encoding and decoding columns share
//
// Rows are processed a few at a time, so that they stay in the cache: from fields to numbers, to
// what the column stores, to bytes; and back. Each step is a plain loop; what is the same for all
// rows is decided before it.

enum { ROWS_AT_ONCE = 256, BYTES_AT_ONCE = 16 << 10, COLUMNS_MAX = 40 };

/** Rows kept in another form, while they are encoded or decoded. */
struct loose_rows {
	_Alignas(16) uint8_t bytes[BYTES_AT_ONCE];
};

static inline size_t rows_at_once(const struct table *t) {
	size_t n = BYTES_AT_ONCE / t->row_bytes;
	return n < ROWS_AT_ONCE ? n : ROWS_AT_ONCE;
}

static inline uint64_t low_bits(unsigned width) {
	return width == 8 ? UINT64_MAX : (1ull << 8 * width) - 1;
}

/** A column being processed. */
struct walk {
	const struct table *t;
	const struct column *column;
	uint64_t previous;
};

#define LOAD_EACH(type)                                \
	for (size_t i = 0; i < n; i++, row += row_bytes) { \
		out[i] = *(const type *)(const void *)row;     \
	}

static inline void load_all(uint64_t *out, const uint8_t *row, size_t row_bytes, unsigned width,
		size_t n) {
	switch (width) {
	case 1: LOAD_EACH(uint8_t) break;
	case 2: LOAD_EACH(uint16_t) break;
	case 4: LOAD_EACH(uint32_t) break;
	default: LOAD_EACH(uint64_t) break;
	}
}

/** What a column's numbers are relative to: another field, times the rows' units. */
static inline void load_others(const struct walk *w, uint64_t *out, const uint8_t *row, size_t n) {
	load_all(out, row + w->column->by, w->t->row_bytes, w->column->by_width, n);
	if (w->column->way == COLUMN_PRODUCT) {
		uint64_t units[ROWS_AT_ONCE];
		load_all(units, row + w->t->unit, w->t->row_bytes, w->t->unit_width, n);
		for (size_t i = 0; i < n; i++) {
			out[i] *= units[i];
		}
	}
}
