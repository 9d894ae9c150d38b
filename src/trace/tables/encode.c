// SPDX-License-Identifier: MIT
/* Encodes rows as a table of columns. */
#include "trace/tables/tables.h"

// The two lengths, of four bytes, are patched in afterwards
static size_t mark_length(struct buffer *out) {
	size_t mark = out->size;
	buffer_u32(out, 0);
	return mark;
}

void table_end(struct buffer *out, size_t mark) {
	const uint64_t n = out->size - mark - sizeof(uint32_t);
	out->failed |= n > UINT32_MAX;
	if (!out->failed) {
		memcpy(out->data + mark, &(uint32_t){(uint32_t)n}, sizeof(uint32_t));
	}
}

size_t table_begin(struct buffer *out, uint32_t id, uint64_t first, uint64_t n) {
	buffer_varint(out, id);
	buffer_varint(out, first);
	buffer_varint(out, n);
	return mark_length(out);
}

size_t table_column_begin(struct buffer *out, uint8_t id) {
	buffer_varint(out, id);
	return mark_length(out);
}

static void take_steps(uint64_t *v, size_t n, uint64_t *previous) {
	for (size_t i = 0; i < n; i++) {
		uint64_t at = v[i];
		v[i] = zigzag(at - *previous);
		*previous = at;
	}
}

#define STORE(value)                 \
	for (size_t i = 0; i < n; i++) { \
		v[i] = (value);              \
	}

// Encode fields as the column's numbers
static void to_stored(struct walk *w, uint64_t *v, const uint8_t *row, uint64_t index, size_t n) {
	const uint64_t none = low_bits(w->column->width);
	uint64_t other[ROWS_AT_ONCE];
	switch ((enum column_way)w->column->way) {
	case COLUMN_PLAIN: break;
	case COLUMN_DELTA: take_steps(v, n, &w->previous); break;
	case COLUMN_HIGH:
		STORE(v[i] >> 16)
		take_steps(v, n, &w->previous);
		break;
	case COLUMN_LOW: STORE(v[i] & 0xffff) break;
	case COLUMN_BACK: STORE(index + i - v[i]) break;
	case COLUMN_UNTIL:
		load_others(w, other, row, n);
		STORE(v[i] == none ? 0 : v[i] - other[i] + 1)
		break;
	default:
		load_others(w, other, row, n);
		STORE(zigzag(v[i] - other[i]))
		break;
	}
}

// A column being encoded
struct writing {
	struct walk walk;
	struct buffer bytes;
	bool is_needed; // some number is not zero; a missing column means zeros
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
		table_end(out, mark);
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
		columns[i].walk = (struct walk){t, &t->columns[i], 0};
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
