// SPDX-License-Identifier: MIT
#include "trace/table.h"

#include "base/check.h"

/*
 * Rows are gone through a few at a time, so that they stay in the cache. Of a column: fields of rows
 * to numbers, then numbers to what the column stores, then bytes; and back. Each step is a plain
 * loop: what is the same for all rows is decided before it.
 */
enum { ROWS_AT_ONCE = 256, COLUMNS_MAX = 32, VARINT_MAX = 10 };

static uint64_t zigzag(uint64_t v) {
	return v << 1 ^ -(v >> 63);
}

static uint64_t unzigzag(uint64_t v) {
	return v >> 1 ^ -(v & 1);
}

static uint64_t low_bits(unsigned width) {
	return width == 8 ? UINT64_MAX : (1ull << 8 * width) - 1;
}

// ---- writing

// The two lengths are patched in afterwards: four bytes each
static size_t mark_length(struct buffer *out) {
	size_t mark = out->size;
	buffer_u32(out, 0);
	return mark;
}

static void patch_length(struct buffer *out, size_t mark) {
	if (out->failed) {
		return;
	}
	size_t n = out->size - mark - 4;
	if (n > UINT32_MAX) {
		out->failed = true;
		return;
	}
	for (size_t i = 0; i < 4; i++, n >>= 8) {
		out->data[mark + i] = (uint8_t)n;
	}
}

size_t table_begin(struct buffer *out, uint32_t id, uint64_t first, uint64_t n) {
	buffer_varint(out, id);
	buffer_varint(out, first);
	buffer_varint(out, n);
	return mark_length(out);
}

void table_end(struct buffer *out, size_t mark) {
	patch_length(out, mark);
}

size_t table_column_begin(struct buffer *out, uint8_t id) {
	buffer_varint(out, id);
	return mark_length(out);
}

void table_column_end(struct buffer *out, size_t mark) {
	patch_length(out, mark);
}

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

// The fields of n rows
static void load_all(uint64_t *out, const uint8_t *row, size_t row_bytes, unsigned width,
		size_t n) {
	switch (width) {
	case 1: LOAD_EACH(uint8_t) break;
	case 2: LOAD_EACH(uint16_t) break;
	case 4: LOAD_EACH(uint32_t) break;
	default: LOAD_EACH(uint64_t) break;
	}
}

// What the numbers of a column are told from: another field, times the rows' units
static void load_others(const struct walk *w, uint64_t *out, const uint8_t *row, size_t n) {
	load_all(out, row + w->column->by, w->t->row_bytes, w->column->by_width, n);
	if (w->column->way == COLUMN_PRODUCT) {
		uint64_t units[ROWS_AT_ONCE];
		w->t->units(units, w->user, row, n);
		for (size_t i = 0; i < n; i++) {
			out[i] *= units[i];
		}
	}
}

static void take_steps(uint64_t *v, size_t n, uint64_t *previous) {
	for (size_t i = 0; i < n; i++) {
		uint64_t at = v[i];
		v[i] = zigzag(at - *previous);
		*previous = at;
	}
}

// From fields to what the column stores for them, where that hangs on another field
static void take_others(const struct walk *w, uint64_t *v, const uint8_t *row, size_t n) {
	const uint64_t none = low_bits(w->column->width);
	uint64_t other[ROWS_AT_ONCE];
	load_others(w, other, row, n);
	if (w->column->way == COLUMN_UNTIL) {
		for (size_t i = 0; i < n; i++) {
			v[i] = v[i] == none ? 0 : v[i] - other[i] + 1;
		}
	} else {
		for (size_t i = 0; i < n; i++) {
			v[i] = zigzag(v[i] - other[i]);
		}
	}
}

static void to_stored(struct walk *w, uint64_t *v, const uint8_t *row, uint64_t index, size_t n) {
	switch ((enum column_way)w->column->way) {
	case COLUMN_PLAIN: break;
	case COLUMN_DELTA: take_steps(v, n, &w->previous); break;
	case COLUMN_HIGH:
		for (size_t i = 0; i < n; i++) {
			v[i] >>= 16;
		}
		take_steps(v, n, &w->previous);
		break;
	case COLUMN_LOW:
		for (size_t i = 0; i < n; i++) {
			v[i] &= 0xffff;
		}
		break;
	case COLUMN_BACK:
		for (size_t i = 0; i < n; i++) {
			v[i] = index + i - v[i];
		}
		break;
	default: take_others(w, v, row, n); break;
	}
}

static uint8_t *put_varint(uint8_t *at, uint64_t v) {
	while (v >= 0x80) {
		*at++ = (uint8_t)(v | 0x80);
		v >>= 7;
	}
	*at++ = (uint8_t)v;
	return at;
}

// A column on its way out of rows
struct writing {
	struct walk walk;
	struct buffer bytes;
	bool is_needed; // any number was not zero: a missing column says the same as zeros
};

static void encode_numbers(struct writing *c, const uint8_t *row, uint64_t index, size_t n) {
	const struct column *column = c->walk.column;
	uint64_t v[ROWS_AT_ONCE], any = 0;
	uint8_t *at = buffer_room(&c->bytes, n * VARINT_MAX);
	if (!at) {
		return;
	}
	load_all(v, row + column->offset, c->walk.t->row_bytes, column->width, n);
	to_stored(&c->walk, v, row, index, n);
	for (size_t i = 0; i < n; i++) {
		any |= v[i];
		at = put_varint(at, v[i]);
	}
	c->bytes.size = (size_t)(at - c->bytes.data);
	c->is_needed |= any != 0;
}

static void encode_ids(struct writing *c, const uint8_t *row, size_t n) {
	const struct column *column = c->walk.column;
	for (; n; n--, row += c->walk.t->row_bytes) {
		uint8_t size = row[column->by];
		check(size <= column->width);
		buffer_u8(&c->bytes, size);
		buffer_bytes(&c->bytes, row + column->offset, size);
		c->is_needed |= size != 0;
	}
}

static void put_column(struct buffer *out, struct writing *c, bool is_first) {
	if (c->is_needed || is_first) {
		size_t mark = table_column_begin(out, c->walk.column->id);
		buffer_slice(out, buffer_view(&c->bytes));
		table_column_end(out, mark);
	}
	out->failed |= c->bytes.failed;
	buffer_finish(&c->bytes);
}

void table_encode(struct buffer *out, const struct table *t, const void *rows, uint64_t first,
		uint64_t n_rows, const void *user) {
	struct writing columns[COLUMNS_MAX] = {0};
	const uint8_t *row = rows;
	size_t n;
	check(t->n_columns <= COLUMNS_MAX);
	for (size_t i = 0; i < t->n_columns; i++) {
		columns[i].walk = (struct walk){t, &t->columns[i], user, 0};
	}
	for (uint64_t done = 0; done < n_rows; done += n, row += n * t->row_bytes) {
		n = n_rows - done < ROWS_AT_ONCE ? (size_t)(n_rows - done) : ROWS_AT_ONCE;
		for (size_t i = 0; i < t->n_columns; i++) {
			if (columns[i].walk.column->way == COLUMN_ID) {
				encode_ids(&columns[i], row, n);
			} else {
				encode_numbers(&columns[i], row, first + done, n);
			}
		}
	}
	size_t mark = table_begin(out, t->id, first, n_rows);
	for (size_t i = 0; n_rows && i < t->n_columns; i++) {
		put_column(out, &columns[i], i == 0);
	}
	table_end(out, mark);
}

// ---- reading

bool table_next(struct table_raw *out, struct cursor *payload, struct err *err) {
	if (cursor_left(payload) == 0) {
		return false;
	}
	uint64_t id = cursor_varint(payload);
	out->first = cursor_varint(payload);
	out->n = cursor_varint(payload);
	uint32_t length = cursor_u32(payload);
	out->columns = cursor_bytes(payload, length);
	if (payload->failed || id > UINT32_MAX) {
		return err_set(err, ERR_FORMAT, "a table is longer than the bytes that hold it");
	}
	out->id = (uint32_t)id;
	return true;
}

// The next column; false at the end or when it is torn (then columns->failed)
static bool next_column(struct cursor *columns, uint64_t *id, struct slice *bytes) {
	if (cursor_left(columns) == 0) {
		return false;
	}
	*id = cursor_varint(columns);
	uint32_t length = cursor_u32(columns);
	*bytes = cursor_bytes(columns, length);
	return !columns->failed;
}

struct slice table_column(const struct table_raw *raw, uint32_t wanted) {
	struct cursor columns = cursor_init(raw->columns);
	uint64_t id;
	struct slice bytes;
	while (next_column(&columns, &id, &bytes)) {
		if (id == wanted) {
			return bytes;
		}
	}
	return (struct slice){raw->columns.data, 0};
}

bool table_count_is_possible(const struct table_raw *raw) {
	return raw->n <= UINT32_MAX && raw->n <= table_column(raw, 1).size;
}

enum { GROUP = 16 };

// True: one byte each, as most numbers
static bool are_short(const uint8_t *group) {
	uint64_t bytes[GROUP / 8];
	memcpy(bytes, group, sizeof bytes);
	return ((bytes[0] | bytes[1]) & 0x8080808080808080) == 0;
}

static void widen(uint64_t *restrict out, const uint8_t *restrict group) {
	for (size_t i = 0; i < GROUP; i++) {
		out[i] = group[i];
	}
}

// There are two bytes at least
static inline uint64_t next_of_many(struct cursor *c) {
	const uint8_t *at = c->at;
	if (at[0] < 0x80) {
		c->at += 1;
		return at[0];
	}
	if (at[1] < 0x80) {
		c->at += 2;
		return (at[0] & 0x7fu) | (uint64_t)at[1] << 7;
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

#define STORE_EACH(type)                               \
	for (size_t i = 0; i < n; i++, row += row_bytes) { \
		*(type *)(void *)row = (type)v[i];             \
		any |= v[i];                                   \
	}

// False: one of them does not fit its field
static bool store_all(uint8_t *row, size_t row_bytes, unsigned width, const uint64_t *v, size_t n) {
	uint64_t any = 0;
	switch (width) {
	case 1: STORE_EACH(uint8_t) break;
	case 2: STORE_EACH(uint16_t) break;
	case 4: STORE_EACH(uint32_t) break;
	default: STORE_EACH(uint64_t) break;
	}
	return any <= low_bits(width);
}

// From steps to where they lead
static void add_steps(uint64_t *v, size_t n, uint64_t *previous, unsigned shift) {
	uint64_t at = *previous;
	for (size_t i = 0; i < n; i++) {
		at += unzigzag(v[i]) << shift;
		v[i] = at;
	}
	*previous = at;
}

// From what the column stores to the fields' values, where those hang on another field
static void add_others(const struct walk *w, uint64_t *v, const uint8_t *row, size_t n) {
	const uint64_t none = low_bits(w->column->width);
	uint64_t other[ROWS_AT_ONCE];
	load_others(w, other, row, n);
	if (w->column->way == COLUMN_UNTIL) {
		for (size_t i = 0; i < n; i++) {
			v[i] = v[i] == 0 ? none : other[i] + v[i] - 1;
		}
	} else {
		for (size_t i = 0; i < n; i++) {
			v[i] = other[i] + unzigzag(v[i]);
		}
	}
}

// The low bits join the high ones, which their field holds already
static void add_low(const struct walk *w, uint64_t *v, const uint8_t *row, size_t n) {
	const struct column *c = w->column;
	uint64_t high[ROWS_AT_ONCE];
	load_all(high, row + c->offset, w->t->row_bytes, c->width, n);
	for (size_t i = 0; i < n; i++) {
		v[i] = high[i] | (v[i] & 0xffff);
	}
}

static void to_fields(struct walk *w, uint64_t *v, const uint8_t *row, uint64_t index, size_t n) {
	switch ((enum column_way)w->column->way) {
	case COLUMN_PLAIN: break;
	case COLUMN_DELTA: add_steps(v, n, &w->previous, 0); break;
	case COLUMN_HIGH: add_steps(v, n, &w->previous, 16); break;
	case COLUMN_LOW: add_low(w, v, row, n); break;
	case COLUMN_BACK:
		for (size_t i = 0; i < n; i++) {
			v[i] = index + i - v[i];
		}
		break;
	default: add_others(w, v, row, n); break;
	}
}

// A column on its way into rows
struct reading {
	struct walk walk;
	struct cursor bytes;
	bool is_zero; // no bytes: all its numbers are zero
};

// Zeros need no storing: the rows hold them
static bool skip_zeros(struct cursor *c, size_t n) {
	static const uint8_t zeros[ROWS_AT_ONCE];
	bool are_zeros = cursor_left(c) >= n && memcmp(c->at, zeros, n) == 0;
	c->at += are_zeros ? n : 0;
	return are_zeros;
}

static bool decode_numbers(struct reading *r, uint8_t *row, uint64_t index, size_t n) {
	struct walk *w = &r->walk;
	uint64_t v[ROWS_AT_ONCE];
	if (w->column->way == COLUMN_PLAIN && skip_zeros(&r->bytes, n)) {
		return true;
	}
	if (r->is_zero) {
		memset(v, 0, n * sizeof *v);
	} else {
		take_numbers(v, &r->bytes, n);
	}
	to_fields(w, v, row, index, n);
	return store_all(row + w->column->offset, w->t->row_bytes, w->column->width, v, n);
}

static bool decode_ids(struct reading *r, uint8_t *row, size_t n) {
	const struct column *c = r->walk.column;
	for (; n && !r->bytes.failed; n--, row += r->walk.t->row_bytes) {
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

// False: something does not fit its field, or there is not one number per row
static bool decode_piece(struct reading *r, uint8_t *row, uint64_t index, size_t n, bool is_last) {
	bool fits = r->walk.column->way == COLUMN_ID ? decode_ids(r, row, n)
												 : decode_numbers(r, row, index, n);
	return fits && !r->bytes.failed && !(is_last && cursor_left(&r->bytes));
}

// The rows are zeroed already; other ways need the fields that they refer to
static bool is_zero_if_missing(const struct column *c) {
	return c->way == COLUMN_PLAIN || c->way == COLUMN_DELTA || c->way == COLUMN_ID;
}

static bool find_columns(struct reading *out, size_t *n, const struct table_raw *raw,
		const struct table *t, const void *user, struct err *err) {
	struct cursor columns = cursor_init(raw->columns);
	uint64_t id = 0;
	struct slice bytes = {raw->columns.data, 0};
	bool more = next_column(&columns, &id, &bytes);
	check(t->n_columns <= COLUMNS_MAX);
	for (size_t i = 0; i < t->n_columns; i++) {
		const struct column *column = &t->columns[i];
		while (more && id < column->id) {
			uint64_t before = id;
			more = next_column(&columns, &id, &bytes);
			if (more && id <= before) {
				return err_set(err, ERR_FORMAT, "table %s: columns out of order", t->name);
			}
		}
		struct slice its = more && id == column->id ? bytes : (struct slice){NULL, 0};
		if (i == 0 && its.size < raw->n) {
			return err_set(err, ERR_FORMAT, "table %s: bad column %u", t->name, column->id);
		}
		if (its.size > 0 || !is_zero_if_missing(column)) {
			out[(*n)++] = (struct reading){{t, column, user, 0}, cursor_init(its), its.size == 0};
		}
	}
	return !columns.failed || err_set(err, ERR_FORMAT, "table %s: torn column", t->name);
}

bool table_decode(const struct table_raw *raw, const struct table *t, void *rows, const void *user,
		struct err *err) {
	struct reading readings[COLUMNS_MAX];
	size_t n_readings = 0, n;
	if (!find_columns(readings, &n_readings, raw, t, user, err)) {
		return false;
	}
	uint8_t *row = rows;
	for (uint64_t done = 0; done < raw->n; done += n, row += n * t->row_bytes) {
		n = raw->n - done < ROWS_AT_ONCE ? (size_t)(raw->n - done) : ROWS_AT_ONCE;
		for (size_t i = 0; i < n_readings; i++) {
			struct reading *r = &readings[i];
			if (!decode_piece(r, row, raw->first + done, n, done + n == raw->n)) {
				return err_set(err, ERR_FORMAT, "table %s: bad column %u", t->name,
						r->walk.column->id);
			}
		}
	}
	return true;
}
