// SPDX-License-Identifier: MIT
#include "trace/table.h"

#include "base/check.h"

// A column's numbers are written in pieces: memory for the longest form of each is taken at once
enum { PIECE = 4096, VARINT_MAX = 10 };

static uint64_t load(const uint8_t *row, size_t offset, unsigned width) {
	switch (width) {
	case 1: return row[offset];
	case 2: return *(const uint16_t *)(const void *)(row + offset);
	case 4: return *(const uint32_t *)(const void *)(row + offset);
	default: return *(const uint64_t *)(const void *)(row + offset);
	}
}

static void store(uint8_t *row, size_t offset, unsigned width, uint64_t v) {
	switch (width) {
	case 1: row[offset] = (uint8_t)v; break;
	case 2: *(uint16_t *)(void *)(row + offset) = (uint16_t)v; break;
	case 4: *(uint32_t *)(void *)(row + offset) = (uint32_t)v; break;
	default: *(uint64_t *)(void *)(row + offset) = v; break;
	}
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

// What a column stores for a row
static uint64_t to_stored(struct walk *w, const uint8_t *row, uint64_t index) {
	const struct column *c = w->column;
	uint64_t v = load(row, c->offset, c->width);
	uint64_t previous = w->previous;
	w->previous = v;
	switch ((enum column_way)c->way) {
	case COLUMN_DELTA: return zigzag(v - previous);
	case COLUMN_AFTER: return zigzag(v - load(row, c->by, c->by_width));
	case COLUMN_BACK: return index - v;
	case COLUMN_PRODUCT:
		return zigzag(v - load(row, c->by, c->by_width) * w->t->unit(w->user, row));
	case COLUMN_UNTIL: return v == low_bits(c->width) ? 0 : v - load(row, c->by, c->by_width) + 1;
	case COLUMN_HIGH: return zigzag((v >> 16) - (previous >> 16));
	case COLUMN_LOW: return v & 0xffff;
	default: return v;
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

// Returns whether any number was not zero
static bool encode_numbers(struct buffer *out, struct walk *w, const uint8_t *row, uint64_t index,
		uint64_t n) {
	uint64_t any = 0;
	while (n) {
		uint64_t piece = n < PIECE ? n : PIECE;
		uint8_t *at = buffer_room(out, piece * VARINT_MAX);
		if (!at) {
			return true;
		}
		for (uint64_t i = 0; i < piece; i++, row += w->t->row_bytes) {
			uint64_t v = to_stored(w, row, index++);
			any |= v;
			at = put_varint(at, v);
		}
		out->size = (size_t)(at - out->data);
		n -= piece;
	}
	return any != 0;
}

static bool encode_ids(struct buffer *out, struct walk *w, const uint8_t *row, uint64_t n) {
	bool any = false;
	for (; n; n--, row += w->t->row_bytes) {
		uint8_t size = row[w->column->by];
		check(size <= w->column->width);
		buffer_u8(out, size);
		buffer_bytes(out, row + w->column->offset, size);
		any |= size != 0;
	}
	return any;
}

void table_encode(struct buffer *out, const struct table *t, const void *rows, uint64_t first,
		uint64_t n, const void *user) {
	size_t mark = table_begin(out, t->id, first, n);
	for (size_t i = 0; n && i < t->n_columns; i++) {
		struct walk w = {t, &t->columns[i], user, 0};
		size_t before = out->size;
		size_t column = table_column_begin(out, w.column->id);
		bool any = w.column->way == COLUMN_ID ? encode_ids(out, &w, rows, n)
											  : encode_numbers(out, &w, rows, first, n);
		if (any || i == 0) {
			table_column_end(out, column);
		} else {
			out->size = before; // all zeros: a missing column says the same
		}
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

// The field's value from what the column stores. `old`: what the field holds already
static uint64_t from_stored(const struct walk *w, const uint8_t *row, uint64_t index, uint64_t s,
		uint64_t old) {
	const struct column *c = w->column;
	switch ((enum column_way)c->way) {
	case COLUMN_DELTA: return w->previous + unzigzag(s);
	case COLUMN_AFTER: return load(row, c->by, c->by_width) + unzigzag(s);
	case COLUMN_BACK: return index - s;
	case COLUMN_PRODUCT:
		return load(row, c->by, c->by_width) * w->t->unit(w->user, row) + unzigzag(s);
	case COLUMN_UNTIL: return s == 0 ? low_bits(c->width) : load(row, c->by, c->by_width) + s - 1;
	case COLUMN_HIGH: return ((w->previous >> 16) + unzigzag(s)) << 16;
	case COLUMN_LOW: return old | (s & 0xffff);
	default: return s;
	}
}

// Most numbers take one byte
static inline uint64_t next_varint(struct cursor *c) {
	return LIKELY(c->at != c->end && *c->at < 0x80) ? *c->at++ : cursor_varint(c);
}

// Nearly all columns: a field of four or eight bytes, as it is or as the step from the row before
static bool is_simple(const struct column *c) {
	return (c->way == COLUMN_PLAIN || c->way == COLUMN_DELTA) && (c->width == 4 || c->width == 8);
}

static bool decode_simple(struct slice bytes, const struct walk *w, uint8_t *row, uint64_t n) {
	struct cursor c = cursor_init(bytes);
	const bool is_delta = w->column->way == COLUMN_DELTA;
	const uint64_t row_bytes = w->t->row_bytes;
	uint64_t fits = low_bits(w->column->width), value = 0;
	row += w->column->offset;
	for (; n && !c.failed; n--, row += row_bytes) {
		uint64_t s = next_varint(&c);
		value = is_delta ? value + unzigzag(s) : s;
		if (value > fits) {
			return false;
		}
		if (fits == UINT64_MAX) {
			*(uint64_t *)(void *)row = value;
		} else {
			*(uint32_t *)(void *)row = (uint32_t)value;
		}
	}
	return !c.failed && cursor_left(&c) == 0;
}

// False: a number that does not fit its field, or the column has not one number per row
static bool decode_numbers(struct slice bytes, struct walk *w, uint8_t *row, uint64_t index,
		uint64_t n) {
	struct cursor c = cursor_init(bytes);
	unsigned width = w->column->width;
	uint64_t fits = low_bits(width);
	for (; n && !c.failed; n--, row += w->t->row_bytes) {
		uint64_t s = bytes.size ? next_varint(&c) : 0;
		uint64_t v = from_stored(w, row, index++, s, load(row, w->column->offset, width));
		if (v > fits) {
			return false;
		}
		store(row, w->column->offset, width, v);
		w->previous = v;
	}
	return !c.failed && cursor_left(&c) == 0;
}

static bool decode_ids(struct slice bytes, struct walk *w, uint8_t *row, uint64_t n) {
	struct cursor c = cursor_init(bytes);
	for (; n && bytes.size && !c.failed; n--, row += w->t->row_bytes) {
		uint8_t size = cursor_u8(&c);
		struct slice id = cursor_bytes(&c, size);
		if (size > w->column->width) {
			return false;
		}
		row[w->column->by] = (uint8_t)id.size;
		memcpy(row + w->column->offset, id.data, id.size);
	}
	return !c.failed && cursor_left(&c) == 0;
}

static bool decode_column(struct slice bytes, struct walk *w, uint8_t *row,
		const struct table_raw *raw) {
	if (w->column->way == COLUMN_ID) {
		return decode_ids(bytes, w, row, raw->n);
	}
	return bytes.size > 0 && is_simple(w->column)
			? decode_simple(bytes, w, row, raw->n)
			: decode_numbers(bytes, w, row, raw->first, raw->n);
}

// The rows are zeroed already; other ways need the fields that they refer to
static bool is_zero_if_missing(const struct column *c) {
	return c->way == COLUMN_PLAIN || c->way == COLUMN_DELTA || c->way == COLUMN_ID;
}

bool table_decode(const struct table_raw *raw, const struct table *t, void *rows, const void *user,
		struct err *err) {
	struct cursor columns = cursor_init(raw->columns);
	uint64_t id = 0;
	struct slice bytes = {raw->columns.data, 0};
	bool more = next_column(&columns, &id, &bytes);
	for (size_t i = 0; raw->n && i < t->n_columns; i++) {
		const struct column *column = &t->columns[i];
		while (more && id < column->id) {
			uint64_t before = id;
			more = next_column(&columns, &id, &bytes);
			if (more && id <= before) {
				return err_set(err, ERR_FORMAT, "table %s: columns out of order", t->name);
			}
		}
		bool is_there = more && id == column->id;
		if (!is_there && i > 0 && is_zero_if_missing(column)) {
			continue;
		}
		struct slice its = is_there ? bytes : (struct slice){raw->columns.data, 0};
		struct walk w = {t, column, user, 0};
		if ((i == 0 && its.size < raw->n) || !decode_column(its, &w, rows, raw)) {
			return err_set(err, ERR_FORMAT, "table %s: bad column %u", t->name, column->id);
		}
	}
	if (columns.failed) {
		return err_set(err, ERR_FORMAT, "table %s: torn column", t->name);
	}
	return true;
}
