// SPDX-License-Identifier: MIT
/*
 * Encodes and decodes the log, the tables that only grow. A writer keeps marks of how far it has
 * written each; a piece extends from there to the ends, or to a bound, so that no block gets large.
 * A location is written once, without frames, which the names table adds, then or later.
 */
#include "trace/tables/tables.h"

enum { PIECE_ROWS = 256 << 10, PIECE_TEXT = 4 << 20 };

// ---- writing

static uint32_t up_to(uint32_t from, uint32_t n) {
	check(from <= n); // log tables only grow
	return n - from < PIECE_ROWS ? n : from + PIECE_ROWS;
}

static uint32_t encode_strings(struct buffer *out, const struct recording *r, uint32_t from) {
	uint32_t to = from, end = up_to(from, r->strings.n);
	for (size_t text = 0; to < end && text < PIECE_TEXT; to++) {
		text += r->strings.items[to].size;
	}
	if (to == from) {
		return to;
	}
	size_t table = table_begin(out, TABLE_STRINGS, from, to - from);
	size_t lengths = table_column_begin(out, STRINGS_LENGTH);
	for (uint32_t i = from; i < to; i++) {
		buffer_varint(out, r->strings.items[i].size);
	}
	table_end(out, lengths);
	size_t bytes = table_column_begin(out, STRINGS_BYTES);
	for (uint32_t i = from; i < to; i++) {
		buffer_slice(out, r->strings.items[i]);
	}
	table_end(out, bytes);
	table_end(out, table);
	return to;
}

static uint32_t encode_rows(struct buffer *out, const struct table *t, const void *rows,
		uint32_t from, uint32_t n) {
	uint32_t to = up_to(from, n);
	if (to != from) {
		const uint8_t *row0 = rows;
		table_encode(out, t, row0 + from * t->row_bytes, from, to - from, NULL);
	}
	return to;
}

static bool is_named(const struct log_marks *marks, uint32_t location) {
	return location / 8 < marks->named.n && marks->named.items[location / 8] >> location % 8 & 1;
}

// Names of locations whose frames are in the log or in this piece
static void collect_names(struct log_piece *piece, const struct log_marks *marks,
		const struct recording *r) {
	for (uint32_t i = 0; i < piece->counts.locations && piece->names.n < PIECE_ROWS; i++) {
		const struct rec_location *l = &r->locations.items[i];
		if (l->n_frames > 0 && !is_named(marks, i) &&
				(uint64_t)l->first_frame + l->n_frames <= piece->counts.frames) {
			(void)vec_add(&piece->names, (struct name_row){i, l->first_frame, l->n_frames});
		}
	}
}

void log_encode(struct buffer *out, struct log_piece *piece, const struct log_marks *marks,
		const struct recording *r) {
	buffer_clear(out);
	const struct counts_row *from = &marks->counts;
	struct counts_row *to = &piece->counts;
	to->strings = encode_strings(out, r, from->strings);
	to->frames = encode_rows(out, &table_frames, r->frames.items, from->frames, r->frames.n);
	to->locations = encode_rows(out, &table_locations, r->locations.items, from->locations,
			r->locations.n);
	to->nodes = encode_rows(out, &table_nodes, r->nodes.items, from->nodes, r->nodes.n);
	piece->names.n = 0;
	collect_names(piece, marks, r);
	if (piece->names.n) {
		table_encode(out, &table_names, piece->names.items, 0, piece->names.n, NULL);
	}
}

void log_piece_done(struct log_marks *marks, const struct log_piece *piece) {
	(void)EVERY(marks->named.n <= piece->counts.locations / 8, vec_add(&marks->named, 0));
	EACH(name, piece->names) {
		marks->named.items[name->location / 8] |= (uint8_t)(1u << name->location % 8);
	}
	marks->counts = piece->counts;
}

// ---- reading

bool log_reader_init(struct log_reader *l, struct recording *out, struct counts_row want,
		uint64_t log_bytes, struct err *err) {
	*l = (struct log_reader){.out = out, .want = want};
	// Each row takes at least a byte: allocate nothing for what cannot be there
	if (want.strings > log_bytes || want.locations > log_bytes || want.frames > log_bytes ||
			want.nodes > log_bytes) {
		return err_format(err, "the log is too short for what the state needs");
	}
	return (RECORDING_ROOM(out, strings, want.strings) &&
				   RECORDING_ROOM(out, locations, want.locations) &&
				   RECORDING_ROOM(out, frames, want.frames) &&
				   RECORDING_ROOM(out, nodes, want.nodes)) ||
			err_limit(err, "the tables of the log take too much memory");
}

static bool decode_strings(struct log_reader *l, const struct table_raw *raw, struct err *err) {
	struct slice *rows = l->out->strings.items + l->have.strings;
	struct cursor lengths = cursor_init(table_column(raw, STRINGS_LENGTH));
	struct slice text = table_column(raw, STRINGS_BYTES);
	char *copy = arena_text(&l->out->arena, text);
	if (!copy) {
		return err_limit(err, "strings take too much memory");
	}
	struct cursor bytes = cursor_init(slice_of(copy, text.size));
	for (uint64_t i = 0; i < raw->n; i++) {
		rows[i] = cursor_bytes(&bytes, cursor_varint(&lengths));
	}
	return (!lengths.failed && !cursor_left(&lengths) && !bytes.failed && !cursor_left(&bytes)) ||
			err_format(err, "table strings: lengths and bytes disagree");
}

// Names are not kept as a table: their rows go to the locations
static bool decode_names(struct log_reader *l, const struct table_raw *raw, struct err *err) {
	SCOPED(arena) scratch = {.max_bytes = l->out->arena.max_bytes};
	struct name_row *names = arena_new(&scratch, struct name_row, raw->n);
	bool ok = names ? table_decode(raw, &table_names, names, NULL, err)
					: err_limit(err, "names take too much memory");
	for (uint64_t i = 0; ok && i < raw->n; i++) {
		if (names[i].location >= l->have.locations ||
				(uint64_t)names[i].first_frame + names[i].n_frames > l->have.frames) {
			ok = err_format(err, "table names: row %" PRIu64 " is out of range", i);
			break;
		}
		struct rec_location *location = &l->out->locations.items[names[i].location];
		COPY_FIELDS(location, &names[i], first_frame, n_frames);
	}
	return ok;
}

static bool decode_rows(struct log_reader *l, const struct table_raw *raw, struct err *err) {
	struct recording *r = l->out;
	struct log_table {
		const struct table *table; // NULL: strings
		uint32_t *have;
		uint32_t want;
		void *rows;
	} tables[] = {
			[0] = {NULL, &l->have.strings, l->want.strings, r->strings.items},
			[1] = {&table_locations, &l->have.locations, l->want.locations, r->locations.items},
			[2] = {&table_frames, &l->have.frames, l->want.frames, r->frames.items},
			[3] = {&table_nodes, &l->have.nodes, l->want.nodes, r->nodes.items},
	};
	const struct log_table *t = &tables[raw->id - TABLE_STRINGS];
	if (raw->first != *t->have || raw->n > t->want - *t->have) {
		return err_format(err, "table %u: rows %" PRIu64 " to %" PRIu64 " do not follow %u",
				raw->id, raw->first, raw->first + raw->n, *t->have);
	}
	if (t->table) {
		uint8_t *rows = t->rows;
		if (raw->n &&
				!table_decode(raw, t->table, rows + *t->have * t->table->row_bytes, NULL, err)) {
			return false;
		}
	} else if (!decode_strings(l, raw, err)) {
		return false;
	}
	*t->have += (uint32_t)raw->n;
	return true;
}

bool log_decode(struct log_reader *l, struct slice payload, struct err *err) {
	struct cursor c = cursor_init(payload);
	struct table_raw raw;
	while (table_next(&raw, &c, err)) {
		if (raw.id < TABLE_STRINGS || raw.id > table_names.id) {
			continue;
		}
		if (!table_count_is_possible(&raw)) {
			return err_format(err, "table %u: fewer rows than announced", raw.id);
		}
		if (!(raw.id == table_names.id ? decode_names(l, &raw, err) : decode_rows(l, &raw, err))) {
			return false;
		}
	}
	return !c.failed;
}

bool log_reader_is_done(const struct log_reader *l, struct err *err) {
	return memcmp(&l->have, &l->want, sizeof l->have) == 0 ||
			err_format(err, "the log holds less than the state needs");
}
