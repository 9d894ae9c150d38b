// SPDX-License-Identifier: MIT
/*
 * Encodes and decodes the state, all tables not in the log. One row, which says how much of the log
 * is theirs, precedes the adjacent tables. state_tables lists where each is in memory.
 */
#include "trace/tables/tables.h"

// The layout of every REC_TABLE, whatever its rows
struct any_table {
	void *items;
	uint32_t n;
};

#define COUNT_OF(r, _, table) .table = (r)->table.n

/**
 * In a file, what ended processes left behind is gone, not live, so that it agrees with the curve
 * for readers that know one process. `by`: 1 or -1.
 */
static void move_left(struct rec_summary *s, uint64_t by) {
	s->live_blocks += by * s->left_blocks;
	s->live_bytes += by * s->left_bytes;
	s->gone_at_exec -= by * s->left_blocks;
	s->gone_at_exec_bytes -= by * s->left_bytes;
}

void state_encode(struct buffer *out, const struct recording *r) {
	struct counts_row counts = {FOR_LIST(COUNT_OF, r, _, strings, locations, frames, nodes)};
	table_encode(out, &table_counts, &counts, 0, 1, NULL);
	struct rec_summary summary = r->summary;
	move_left(&summary, -1ull);
	EACH_OF(s, state_tables, n_state_tables) {
		const void *at = s->offset == offsetof(struct recording, summary)
				? (const void *)&summary
				: (const uint8_t *)r + s->offset;
		struct any_table t = {NULL, 1};
		if (!s->is_single) {
			memcpy(&t, at, sizeof t);
		}
		table_encode(out, &s->table, s->is_single ? at : t.items, 0, t.n, r);
	}
}

bool state_counts(struct counts_row *out, struct slice payload, struct err *err) {
	struct cursor c = cursor_init(payload);
	struct table_raw raw;
	if (!table_next(&raw, &c, err) || raw.id != table_counts.id || raw.first != 0 || raw.n != 1) {
		return err_format(err, "the state does not begin with its counts");
	}
	*out = (struct counts_row){0};
	return table_decode(&raw, &table_counts, out, NULL, err);
}

static bool decode_rows(struct recording *r, const struct state_table *s,
		const struct table_raw *raw, struct err *err) {
	uint8_t *at = (uint8_t *)r + s->offset;
	struct any_table t = {at, 1};
	if (s->is_single) {
		return raw->n == 1 ? table_decode(raw, &s->table, at, r, err)
						   : err_format(err, "table %s: not one row", s->table.name);
	}
	if (!table_count_is_possible(raw)) {
		return err_format(err, "table %s: fewer rows than announced", s->table.name);
	}
	t.n = (uint32_t)raw->n;
	t.items = arena_alloc(&r->arena, t.n, s->table.kept_bytes ?: s->table.row_bytes);
	if (!t.items) {
		return err_limit(err, "table %s: %u rows take too much memory", s->table.name, t.n);
	}
	memcpy(at, &t, sizeof t);
	return table_decode(raw, &s->table, t.items, r, err);
}

bool state_decode(struct recording *out, struct slice payload, struct err *err) {
	struct cursor c = cursor_init(payload);
	struct table_raw raw;
	uint32_t seen = 0;
	while (table_next(&raw, &c, err)) {
		const struct state_table *s = FIND(t, state_tables, n_state_tables, t->table.id == raw.id);
		if (!s) {
			continue;
		}
		if (seen & 1u << (s - state_tables) || raw.first != 0) {
			return err_format(err, "table %s comes twice", s->table.name);
		}
		seen |= 1u << (s - state_tables);
		if (!decode_rows(out, s, &raw, err)) {
			return false;
		}
	}
	move_left(&out->summary, 1);
	return !c.failed;
}
