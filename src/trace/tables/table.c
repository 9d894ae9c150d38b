// SPDX-License-Identifier: MIT
#include "trace/tables/table.h"

#include "base/check.h"

/*
 * Rows are gone through a few at a time, so that they stay in the cache. Of a column: fields of rows
 * to numbers, then numbers to what the column stores, then bytes; and back. Each step is a plain
 * loop: what is the same for all rows is decided before it.
 */
enum { ROWS_AT_ONCE = 256, BYTES_AT_ONCE = 16 << 10, COLUMNS_MAX = 32, VARINT_MAX = 10 };

// Rows that are kept in another form, while columns are made of them
struct loose_rows {
	_Alignas(16) uint8_t bytes[BYTES_AT_ONCE];
};

static size_t rows_at_once(const struct table *t) {
	size_t n = BYTES_AT_ONCE / t->row_bytes;
	return n < ROWS_AT_ONCE ? n : ROWS_AT_ONCE;
}

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
	struct loose_rows loose;
	const uint8_t *row = t->get ? loose.bytes : rows;
	const size_t most = rows_at_once(t);
	size_t n;
	check(t->n_columns <= COLUMNS_MAX);
	for (size_t i = 0; i < t->n_columns; i++) {
		columns[i].walk = (struct walk){t, &t->columns[i], user, 0};
	}
	for (uint64_t done = 0; done < n_rows; done += n, row += t->get ? 0 : n * t->row_bytes) {
		n = n_rows - done < most ? (size_t)(n_rows - done) : most;
		if (t->get) {
			t->get(loose.bytes, user, first + done, n);
		}
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

// There are VARINT_MAX bytes at least
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

// What decoding a column asks of its rows, a few at a time
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

// A loop over the rows for each width of a field: `value` is that of row i, asked once
#define PUT(width, value)                     \
	switch (width) {                          \
	case 1: PUT_EACH(uint8_t, value) break;   \
	case 2: PUT_EACH(uint16_t, value) break;  \
	case 4: PUT_EACH(uint32_t, value) break;  \
	default: PUT_EACH(uint64_t, value) break; \
	}

/*
 * From what the column stores to the fields. Stored numbers are bytes or words: one of the two is NULL,
 * and this is made once for each. False: a value does not fit its field.
 */
static ATTR_INLINE bool put_fields(struct walk *w, const struct piece *p, const uint8_t *bytes,
		const uint64_t *words) {
#define STORED (bytes ? (uint64_t)bytes[i] : words[i])
	const struct column *c = w->column;
	const uint64_t none = low_bits(c->width);
	uint8_t *row = p->row + c->offset;
	uint64_t other[ROWS_AT_ONCE], at = w->previous, any = 0;
	switch ((enum column_way)c->way) {
	case COLUMN_PLAIN: PUT(c->width, STORED) break;
	case COLUMN_DELTA: PUT(c->width, at += unzigzag(STORED)) break;
	case COLUMN_HIGH: PUT(c->width, at += unzigzag(STORED) << 16) break;
	case COLUMN_BACK: PUT(c->width, p->index + i - STORED) break;
	case COLUMN_LOW:
		// The low bits join the high ones, which their field holds already
		load_all(other, row, p->row_bytes, c->width, p->n);
		PUT(c->width, other[i] | (STORED & 0xffff))
		break;
	case COLUMN_UNTIL:
		load_others(w, other, p->row, p->n);
		PUT(c->width, STORED == 0 ? none : other[i] + STORED - 1)
		break;
	default:
		load_others(w, other, p->row, p->n);
		PUT(c->width, other[i] + unzigzag(STORED))
		break;
	}
	w->previous = at;
	return any <= none;
#undef STORED
}

static ATTR_NOINLINE bool put_bytes(struct walk *w, const struct piece *p, const uint8_t *bytes) {
	return put_fields(w, p, bytes, NULL);
}

static ATTR_NOINLINE bool put_words(struct walk *w, const struct piece *p, const uint64_t *words) {
	return put_fields(w, p, NULL, words);
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

// The next n numbers if each takes one byte, as most do; NULL: they do not, or are not there
static const uint8_t *take_bytes(struct cursor *c, size_t n) {
	const uint8_t *bytes = c->at;
	if (cursor_left(c) < n) {
		return NULL;
	}
	uint64_t any = 0, eight;
	for (size_t i = 0; i + sizeof eight <= n; i += sizeof eight) {
		memcpy(&eight, bytes + i, sizeof eight);
		any |= eight;
	}
	for (size_t i = n - n % sizeof eight; i < n; i++) {
		any |= bytes[i];
	}
	if (any & 0x8080808080808080) {
		return NULL;
	}
	c->at += n;
	return bytes;
}

static bool decode_numbers(struct reading *r, const struct piece *p) {
	struct walk *w = &r->walk;
	if (w->column->way == COLUMN_PLAIN && skip_zeros(&r->bytes, p->n)) {
		return true;
	}
	const uint8_t *bytes = take_bytes(&r->bytes, p->n);
	if (bytes) {
		return put_bytes(w, p, bytes);
	}
	uint64_t words[ROWS_AT_ONCE];
	if (r->is_zero) {
		memset(words, 0, p->n * sizeof *words);
	} else {
		take_numbers(words, &r->bytes, p->n);
	}
	return put_words(w, p, words);
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

// False: something does not fit its field, or there is not one number per row
static bool decode_piece(struct reading *r, const struct piece *p, bool is_last) {
	bool fits = r->walk.column->way == COLUMN_ID ? decode_ids(r, p) : decode_numbers(r, p);
	return fits && !r->bytes.failed && !(is_last && cursor_left(&r->bytes));
}

// The rows are zeroed already; other ways need the fields that they refer to
static bool is_zero_if_missing(const struct column *c) {
	return c->way == COLUMN_PLAIN || c->way == COLUMN_DELTA || c->way == COLUMN_ID;
}

bool table_columns(struct cursor *out, const struct table_raw *raw, const struct table *t,
		struct err *err) {
	struct cursor columns = cursor_init(raw->columns);
	uint64_t id = 0;
	struct slice bytes = {raw->columns.data, 0};
	bool more = next_column(&columns, &id, &bytes);
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
		if (column->id == 1 && its.size < raw->n) {
			return err_set(err, ERR_FORMAT, "table %s: bad column %u", t->name, column->id);
		}
		out[i] = cursor_init(its);
	}
	return !columns.failed || err_set(err, ERR_FORMAT, "table %s: torn column", t->name);
}

static size_t find_readings(struct reading *out, const struct cursor *columns,
		const struct table *t, const void *user) {
	size_t n = 0;
	for (size_t i = 0; i < t->n_columns; i++) {
		bool is_zero = cursor_left(&columns[i]) == 0;
		if (!is_zero || !is_zero_if_missing(&t->columns[i])) {
			out[n++] = (struct reading){{t, &t->columns[i], user, 0}, columns[i], is_zero};
		}
	}
	return n;
}

bool table_decode(const struct table_raw *raw, const struct table *t, void *rows, void *user,
		struct err *err) {
	struct cursor columns[COLUMNS_MAX];
	struct reading readings[COLUMNS_MAX];
	if (t->decode) {
		return t->decode(raw, t, user, err);
	}
	check(t->n_columns <= COLUMNS_MAX);
	if (!table_columns(columns, raw, t, err)) {
		return false;
	}
	const size_t n_readings = find_readings(readings, columns, t, user);
	const size_t most = rows_at_once(t);
	struct piece p = {.row = rows, .row_bytes = t->row_bytes, .index = raw->first};
	for (uint64_t left = raw->n; left > 0; left -= p.n) {
		p.n = left < most ? (size_t)left : most;
		for (size_t i = 0; i < n_readings; i++) {
			struct reading *r = &readings[i];
			if (!decode_piece(r, &p, p.n == left)) {
				return err_set(err, ERR_FORMAT, "table %s: bad column %u", t->name,
						r->walk.column->id);
			}
		}
		p.row += p.n * t->row_bytes;
		p.index += p.n;
	}
	return true;
}
