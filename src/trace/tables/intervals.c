// SPDX-License-Identifier: MIT
/*
 * Decodes intervals, the largest table of a file.
 *
 * Nearly all of their numbers take one byte. So they are decoded row by row, in one loop over all
 * columns, straight into the form in which they are kept. What the loop does to each number is what
 * decode.c does to a column of its kind.
 */
#include "base/err.h"
#include "trace/tables/tables.h"

enum { STACK, FROM, UNTIL, COUNT, BYTES, TEMPORARY, N_COLUMNS };
enum { GROUP = 16 };

// What numbers are told from, and all bits that were met in fields of a kind: not too many, at the
// end
struct so_far {
	uint64_t stack, from;
	uint64_t stack_bits, edge_bits, count_bits;
};

struct decoding {
	struct recording *r;
	struct cursor columns[N_COLUMNS];
	bool is_zero[N_COLUMNS]; // missing: all its numbers are
	struct so_far so_far;
	uint32_t n; // rows done
	bool lacks_memory;
};

/** Numbers that are stored as D, D, U(from), P, X(count), P. */
static void put_row(struct decoding *d, struct so_far *s, uint32_t i, const uint64_t v[N_COLUMNS]) {
	const struct recording *r = d->r;
	s->stack += unzigzag(v[STACK]);
	s->from += unzigzag(v[FROM]);
	// Stacks come before intervals in a state, so they are there; ids are not checked yet
	uint64_t unit = s->stack < r->stacks.n ? r->stacks.items[s->stack].usual_size : 0;
	uint64_t until = v[UNTIL] == 0 ? REC_NEVER : s->from + v[UNTIL] - 1;
	uint64_t bytes = v[COUNT] * unit + unzigzag(v[BYTES]);
	s->stack_bits |= s->stack;
	s->edge_bits |= s->from | until;
	s->count_bits |= v[COUNT] | v[TEMPORARY];
	const struct rec_interval row = {
			.stack = (uint32_t)s->stack,
			.from = (uint16_t)s->from,
			.until = (uint16_t)until,
			.count = (uint32_t)v[COUNT],
			.temporary = (uint32_t)v[TEMPORARY],
			.bytes = bytes,
	};
	if (LIKELY(rec_interval_is_narrow(&row))) {
		r->intervals.items[i] = rec_interval_narrow(&row);
	} else {
		d->lacks_memory |= !recording_set_interval(d->r, i, &row);
	}
}

/** Where a column's next numbers are if each of them takes one byte; NULL: they do not. */
static const uint8_t *find_short(const struct decoding *d, int column) {
	static const uint8_t zeros[GROUP];
	const struct cursor *c = &d->columns[column];
	if (d->is_zero[column]) {
		return zeros;
	}
	return cursor_left(c) >= GROUP && are_short(c->at, GROUP) ? c->at : NULL;
}

/** Steps, signed, of numbers of one byte each. */
static void unzigzag_short(int8_t *out, const uint8_t *stored) {
	for (int i = 0; i < GROUP; i++) {
		out[i] = (int8_t)(stored[i] >> 1 ^ -(stored[i] & 1));
	}
}

/** False, and nothing is done: a number of the next rows takes more than a byte, or a wide row. */
static bool put_short_rows(struct decoding *d) {
	enum { UNITS_END = 1 << 24 }; // so that bytes fit
	const struct recording *r = d->r;
	const uint8_t *at[N_COLUMNS];
	for (int k = 0; k < N_COLUMNS; k++) {
		at[k] = find_short(d, k);
		if (!at[k]) {
			return false;
		}
	}
	int8_t stack_steps[GROUP], from_steps[GROUP], bytes_off[GROUP];
	unzigzag_short(stack_steps, at[STACK]);
	unzigzag_short(from_steps, at[FROM]);
	unzigzag_short(bytes_off, at[BYTES]);
	struct so_far s = d->so_far;
	struct rec_interval_row *row = &r->intervals.items[d->n];
	uint32_t unit_bits = 0;
	int32_t signs = 0;
	for (int i = 0; i < GROUP; i++, row++) {
		s.stack += (uint64_t)(int64_t)stack_steps[i];
		s.from += (uint64_t)(int64_t)from_steps[i];
		uint32_t unit = s.stack < r->stacks.n ? r->stacks.items[s.stack].usual_size : 0;
		uint64_t until = at[UNTIL][i] == 0 ? REC_NEVER : s.from + at[UNTIL][i] - 1;
		int32_t bytes = (int32_t)(at[COUNT][i] * unit) + bytes_off[i];
		unit_bits |= unit;
		signs |= bytes;
		s.stack_bits |= s.stack;
		s.edge_bits |= s.from | until;
		row->stack = (uint32_t)s.stack;
		row->from = (uint16_t)s.from;
		row->until = (uint16_t)until;
		row->count = at[COUNT][i];
		row->temporary = at[TEMPORARY][i];
		row->bytes = (uint32_t)bytes;
	}
	if (unit_bits >= UNITS_END || signs < 0) {
		return false;
	}
	d->so_far = s;
	for (int k = 0; k < N_COLUMNS; k++) {
		if (!d->is_zero[k]) { // a missing column is nowhere
			d->columns[k].at += GROUP;
		}
	}
	return true;
}

static inline uint64_t take_number(struct decoding *d, int column) {
	struct cursor *c = &d->columns[column];
	if (c->at < c->end && *c->at < 0x80) {
		return *c->at++;
	}
	return d->is_zero[column] ? 0 : cursor_varint(c);
}

static void put_any_rows(struct decoding *d, uint32_t n) {
	struct so_far s = d->so_far;
	for (uint32_t i = 0; i < n; i++) {
		uint64_t v[N_COLUMNS];
		for (int k = 0; k < N_COLUMNS; k++) {
			v[k] = take_number(d, k);
		}
		put_row(d, &s, d->n + i, v);
	}
	d->so_far = s;
}

/** The first column that holds what it must not, or not one number per row; N_COLUMNS: none. */
static int find_bad(const struct decoding *d) {
	const struct so_far *s = &d->so_far;
	for (int k = 0; k < N_COLUMNS; k++) {
		if (d->columns[k].failed || cursor_left(&d->columns[k])) {
			return k;
		}
	}
	return s->stack_bits > UINT32_MAX    ? STACK
			: s->edge_bits > UINT16_MAX  ? FROM
			: s->count_bits > UINT32_MAX ? COUNT
										 : N_COLUMNS;
}

bool intervals_decode(const struct table_raw *raw, const struct table *t, void *user,
		struct err *err) {
	struct decoding d = {.r = user};
	check(t->n_columns == N_COLUMNS);
	if (!table_columns(d.columns, raw, t, err)) {
		return false;
	}
	for (int k = 0; k < N_COLUMNS; k++) {
		d.is_zero[k] = cursor_left(&d.columns[k]) == 0;
	}
	const uint32_t n_rows = (uint32_t)raw->n;
	while (d.n < n_rows && !d.lacks_memory) {
		uint32_t n = n_rows - d.n < GROUP ? n_rows - d.n : GROUP;
		if (n < GROUP || !put_short_rows(&d)) {
			put_any_rows(&d, n);
		}
		d.n += n;
	}
	if (d.lacks_memory) {
		return err_set(err, ERR_LIMIT, "table %s takes too much memory", t->name);
	}
	int bad = find_bad(&d);
	return bad == N_COLUMNS ||
			err_set(err, ERR_FORMAT, "table %s: bad column %u", t->name, t->columns[bad].id);
}
