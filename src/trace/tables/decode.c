// SPDX-License-Identifier: MIT
/* Decodes the columns of a table into rows. Safe for any bytes: never writes beyond the rows. */
#include "trace/tables/tables.h"

bool table_next(struct table_raw *out, struct cursor *payload, struct err *err) {
	if (cursor_left(payload) == 0) {
		return false;
	}
	uint64_t id = cursor_varint(payload);
	out->first = cursor_varint(payload);
	out->n = cursor_varint(payload);
	out->columns = cursor_bytes(payload, cursor_u32(payload));
	payload->failed |= id > UINT32_MAX;
	if (payload->failed) {
		return err_format(err, "a table is longer than the bytes that hold it");
	}
	out->id = (uint32_t)id;
	return true;
}

// The next column; false at the end, or when torn (columns->failed)
static bool next_column(struct cursor *columns, uint64_t *id, struct slice *bytes) {
	if (cursor_left(columns) == 0) {
		return false;
	}
	*id = cursor_varint(columns);
	*bytes = cursor_bytes(columns, cursor_u32(columns));
	return !columns->failed;
}

struct slice table_column(const struct table_raw *raw, uint32_t wanted) {
	struct cursor columns = cursor_init(raw->columns);
	uint64_t id;
	struct slice bytes;
	return SOME(next_column(&columns, &id, &bytes), id == wanted) ? bytes
																  : slice_of(raw->columns.data, 0);
}

bool table_count_is_possible(const struct table_raw *raw) {
	return raw->n <= UINT32_MAX && raw->n <= table_column(raw, 1).size;
}

enum { GROUP = 16 };

/** Are all numbers of a group single bytes, as most are? */
static inline bool are_short(const uint8_t *group) {
	uint64_t halves[2];
	_Static_assert(sizeof halves == GROUP, "all of a group");
	memcpy(halves, group, sizeof halves);
	return ((halves[0] | halves[1]) & 0x8080808080808080) == 0;
}

static void widen(uint64_t *restrict out, const uint8_t *restrict group) {
	for (size_t i = 0; i < GROUP; i++) {
		out[i] = group[i];
	}
}

// Requires at least VARINT_MAX bytes
static inline uint64_t next_of_many(struct cursor *c) {
	enum { USUAL = 6 }; // bytes, at most
	const uint8_t *at = c->at;
	uint64_t v = 0;
	for (unsigned i = 0; i < USUAL; i++) {
		v |= (uint64_t)(at[i] & 0x7f) << 7 * i;
		if (at[i] < 0x80) {
			c->at += i + 1;
			return v;
		}
	}
	return cursor_varint(c);
}

static void take_numbers(uint64_t *out, struct cursor *c, size_t n) {
	size_t i = 0;
	for (; n - i >= GROUP && cursor_left(c) >= GROUP * VARINT_MAX; i += GROUP) {
		if (are_short(c->at)) {
			widen(out + i, c->at);
			c->at += GROUP;
		} else {
			for (size_t k = 0; k < GROUP; k++) {
				out[i + k] = next_of_many(c);
			}
		}
	}
	for (; i < n; i++) {
		out[i] = cursor_varint(c);
	}
}

// Some rows of a column, to be decoded together
struct piece {
	uint8_t *row; // the first
	size_t row_bytes;
	uint64_t index; // its number
	size_t n;
};

#define PUT_EACH(type, value)                                \
	for (size_t i = 0; i < p->n; i++, row += p->row_bytes) { \
		uint64_t field = (value);                            \
		*(type *)(void *)row = (type)field;                  \
		any |= field;                                        \
	}

// One loop over the rows per width of a field; `value` is evaluated once per row
#define PUT(width, value)                     \
	switch (width) {                          \
	case 1: PUT_EACH(uint8_t, value) break;   \
	case 2: PUT_EACH(uint16_t, value) break;  \
	case 4: PUT_EACH(uint32_t, value) break;  \
	default: PUT_EACH(uint64_t, value) break; \
	}

/** Decode stored numbers into fields. False: a value does not fit. */
static bool put_fields(struct walk *w, const struct piece *p, const uint64_t *stored) {
	const struct column *c = w->column;
	const uint64_t none = low_bits(c->width);
	uint8_t *row = p->row + c->offset;
	uint64_t other[ROWS_AT_ONCE], at = w->previous, any = 0;
	switch ((enum column_way)c->way) {
	case COLUMN_PLAIN: PUT(c->width, stored[i]) break;
	case COLUMN_DELTA: PUT(c->width, at += unzigzag(stored[i])) break;
	case COLUMN_HIGH: PUT(c->width, at += unzigzag(stored[i]) << 16) break;
	case COLUMN_BACK: PUT(c->width, p->index + i - stored[i]) break;
	case COLUMN_LOW:
		// The high bits are in the field already
		load_all(other, row, p->row_bytes, c->width, p->n);
		PUT(c->width, other[i] | (stored[i] & 0xffff))
		break;
	case COLUMN_UNTIL:
		load_others(w, other, p->row, p->n);
		PUT(c->width, stored[i] == 0 ? none : other[i] + stored[i] - 1)
		break;
	default:
		load_others(w, other, p->row, p->n);
		PUT(c->width, other[i] + unzigzag(stored[i]))
		break;
	}
	w->previous = at;
	return any <= none;
}

// A column being decoded
struct reading {
	struct walk walk;
	struct cursor bytes;
	bool is_zero; // no bytes: all zero
};

// Zeros need no storing: rows are zeroed
static bool skip_zeros(struct cursor *c, size_t n) {
	static const uint8_t zeros[ROWS_AT_ONCE];
	bool are_zeros = cursor_left(c) >= n && memcmp(c->at, zeros, n) == 0;
	c->at += are_zeros ? n : 0;
	return are_zeros;
}

static bool decode_numbers(struct reading *r, const struct piece *p) {
	struct walk *w = &r->walk;
	if (w->column->way == COLUMN_PLAIN && skip_zeros(&r->bytes, p->n)) {
		return true;
	}
	uint64_t words[ROWS_AT_ONCE];
	if (r->is_zero) {
		memset(words, 0, p->n * sizeof *words);
	} else {
		take_numbers(words, &r->bytes, p->n);
	}
	return put_fields(w, p, words);
}

static bool decode_ids(struct reading *r, const struct piece *p) {
	const struct column *c = r->walk.column;
	uint8_t *row = p->row;
	for (size_t n = p->n; n && !r->bytes.failed; n--, row += p->row_bytes) {
		uint8_t size = cursor_u8(&r->bytes);
		struct slice id = cursor_bytes(&r->bytes, size);
		if (size > c->width) {
			return false;
		}
		row[c->by] = (uint8_t)id.size;
		memcpy(row + c->offset, id.data, id.size);
	}
	return true;
}

// False: a value does not fit, or there is not one number per row
static bool decode_piece(struct reading *r, const struct piece *p, bool is_last) {
	bool fits = r->walk.column->way == COLUMN_ID ? decode_ids(r, p) : decode_numbers(r, p);
	return fits && !r->bytes.failed && !(is_last && cursor_left(&r->bytes));
}

// Rows are zeroed; other ways need the fields they refer to
static bool is_zero_if_missing(const struct column *c) {
	return c->way == COLUMN_PLAIN || c->way == COLUMN_DELTA || c->way == COLUMN_ID;
}

/** The columns that need decoding, and how many. */
static bool find_readings(struct reading *out, size_t *n, const struct table_raw *raw,
		const struct table *t, struct err *err) {
	struct cursor columns = cursor_init(raw->columns);
	uint64_t id = 0;
	struct slice bytes = {raw->columns.data, 0};
	bool more = next_column(&columns, &id, &bytes);
	check(t->n_columns <= COLUMNS_MAX);
	*n = 0;
	EACH_OF(column, t->columns, t->n_columns) {
		while (more && id < column->id) {
			uint64_t before = id;
			more = next_column(&columns, &id, &bytes);
			if (more && id <= before) {
				return err_format(err, "table %s: columns out of order", t->name);
			}
		}
		struct slice its = more && id == column->id ? bytes : (struct slice){NULL, 0};
		if (column->id == 1 && its.size < raw->n) {
			return err_format(err, "table %s: bad column %u", t->name, column->id);
		}
		bool is_zero = its.size == 0;
		if (!is_zero || !is_zero_if_missing(column)) {
			out[(*n)++] = (struct reading){{t, column, 0}, cursor_init(its), is_zero};
		}
	}
	return !columns.failed || err_format(err, "table %s: torn column", t->name);
}

bool table_decode(const struct table_raw *raw, const struct table *t, void *rows, void *user,
		struct err *err) {
	struct reading readings[COLUMNS_MAX];
	struct loose_rows loose;
	size_t n_readings;
	if (!find_readings(readings, &n_readings, raw, t, err)) {
		return false;
	}
	const size_t most = rows_at_once(t);
	struct piece p = {.row = t->put ? loose.bytes : rows,
			.row_bytes = t->row_bytes,
			.index = raw->first};
	for (uint64_t left = raw->n; left > 0; left -= p.n) {
		p.n = left < most ? (size_t)left : most;
		if (t->put) {
			memset(loose.bytes, 0, p.n * t->row_bytes);
		}
		EACH_OF(r, readings, n_readings) {
			if (!decode_piece(r, &p, p.n == left)) {
				return err_format(err, "table %s: bad column %u", t->name, r->walk.column->id);
			}
		}
		if (t->put && !t->put(loose.bytes, user, p.index, p.n)) {
			return err_limit(err, "table %s takes too much memory", t->name);
		}
		p.row += t->put ? 0 : p.n * t->row_bytes;
		p.index += p.n;
	}
	return true;
}
