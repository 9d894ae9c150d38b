// SPDX-License-Identifier: MIT
/*
 * The tables of the blob. One column after the other compresses well: neighbours are alike.
 * Rising columns are written as differences.
 */
#include "web/encode/columns.h"

/** A column for each field of a table's rows, of those from the `first` on. */
#define EACH_ROW(table, first, put)                                \
	for (uint32_t i = (first); i < (table).n; i++) {               \
		const __typeof__(*(table).items) *row = &(table).items[i]; \
		put;                                                       \
	}

#define COLUMN(out, table, value) EACH_ROW(table, 0, buffer_varint((out), (value)))

#define FIELD_COLUMN(out, table, field) ({COLUMN(out, table, row->field)})
#define COLUMNS(out, table, ...)        FOR_FIELDS(FIELD_COLUMN, out, table, __VA_ARGS__);

/** The same for what rises from row to row. */
#define RISING_COLUMN(out, table, field) \
	({COLUMN(out, table, row->field - (i ? row[-1].field : 0))})
#define RISING(out, table, ...) FOR_FIELDS(RISING_COLUMN, out, table, __VA_ARGS__);

#define NODE_COLUMN(value) EACH_ROW(c->frames->nodes, 1, buffer_varint(out, (value)))

void columns_nodes(struct columns *c, struct buffer *out) {
	buffer_varint(out, c->frames->nodes.n);
	NODE_COLUMN(i - row->parent)
	NODE_COLUMN(c->frames->kinds.items[row->key].symbol)
	NODE_COLUMN(c->frames->kinds.items[row->key].line)
}

/** With its length in bytes before it, so that it can be read when it is asked for. */
static void put_sized(struct buffer *out, struct buffer *column) {
	buffer_sized(out, buffer_view(column));
	buffer_clear(column);
}

#define STACK_COLUMN(value)             \
	COLUMN(&column, c->stacks, (value)) \
	put_sized(out, &column);
#define SUM_COLUMN(of, _, field) ({STACK_COLUMN(row->of.field)})

void columns_stacks(struct columns *c, struct buffer *out) {
	struct buffer column = {0};
	buffer_varint(out, c->stacks.n);
	RISING(out, c->stacks, node)
	STACK_COLUMN(row->node - row->site.node)
	STACK_COLUMN(row->site.word)
	STACK_COLUMN(row->node - row->keeper.node)
	STACK_COLUMN(row->keeper.word)
	STACK_COLUMN(row->thread)
	FOR_FIELDS(SUM_COLUMN, sum, _, allocations, allocated_bytes, temporary, temporary_bytes,
			short_lived, peak_blocks, peak_bytes, live_blocks, live_bytes, reallocs);
	STACK_COLUMN(row->sum.first_ns)
	STACK_COLUMN(row->sum.last_ns - row->sum.first_ns)
	for (size_t k = 0; k < REC_LIFETIMES; k++) {
		STACK_COLUMN(row->lifetimes.blocks[k])
	}
	if (c->r->processes.n) {
		STACK_COLUMN(row->command)
	}
	buffer_finish(&column);
}

/** What is not of blocks: a metric's number and moment, then its columns. */
void columns_others(struct columns *c, struct buffer *out) {
	struct buffer column = {0};
	EACH_NUMBER(m, (uint32_t)N_LENS_METRICS, c->others[m]) {
		buffer_varint(out, m);
		buffer_varint(out, c->others[m]->summary.peak_time_ns);
		STACK_COLUMN(row->others[m].bytes)
		STACK_COLUMN(row->others[m].blocks)
	}
	buffer_finish(&column);
}

static void put_periods(const struct rec_edge *items, uint32_t n, struct buffer *out) {
	const REC_TABLE(const struct rec_edge) p = {items, n};
	buffer_varint(out, p.n);
	RISING(out, p, time_ns)
	COLUMN(out, p, row->end_ns - row->time_ns)
	COLUMNS(out, p, bytes, blocks, min_bytes)
	RISING(out, p, allocations, allocated_bytes, temporary)
}

void columns_edges(struct columns *c, struct buffer *out) {
	put_periods(c->r->edges.items, c->r->edges.n, out);
}

void columns_curve(struct columns *c, struct buffer *out) {
	put_periods(c->r->curve.items, c->r->curve.n, out);
}

/** Row numbers of a table by the page's stacks: rows[starts[s]] .. rows[starts[s + 1]] are of s. */
struct by_stack {
	uint32_t *starts, *rows;
};

/** The page's stack of row i; a row begins with that of the recording. */
static uint32_t stack_of(const struct columns *c, const void *rows, size_t row_bytes, uint32_t i) {
	uint32_t stack;
	memcpy(&stack, (const uint8_t *)rows + i * row_bytes, sizeof stack);
	return c->stacks.of[stack];
}

/** Append how many rows there are, and how many of each stack; and say which. */
static void put_by_stack(struct columns *c, const void *rows, size_t row_bytes, uint32_t n,
		struct by_stack *out, struct buffer *column) {
	out->starts = arena_new(c->arena, uint32_t, (size_t)c->stacks.n + 2);
	out->rows = arena_new(c->arena, uint32_t, (size_t)n + 1);
	GROUP_BY(out->rows, out->starts, c->stacks.n, i, n, stack_of(c, rows, row_bytes, i));
	buffer_varint(column, n);
	for (uint32_t s = 0; s < c->stacks.n; s++) {
		buffer_varint(column, out->starts[s + 1] - out->starts[s]);
	}
}

#define SORTED_COLUMN(out, by, table, value)                                  \
	for (uint32_t i = 0; i < (table).n; i++) {                                \
		const __typeof__(*(table).items) *row = &(table).items[(by).rows[i]]; \
		buffer_varint((out), (value));                                        \
	}
#define SORTED_FIELD(by, table, field) ({SORTED_COLUMN(out, by, table, row->field)})

static int compare_from(const void *x, const void *y, void *user) {
	const struct rec_interval_row *intervals = user;
	const struct rec_interval_row *a = &intervals[*(const uint32_t *)x];
	const struct rec_interval_row *b = &intervals[*(const uint32_t *)y];
	return compare_u64(a->from, b->from) ?: compare_u64(a->until, b->until);
}

/** Within a stack they begin one after the other: only the differences are written. */
static void put_from(const struct columns *c, const struct by_stack *by, struct buffer *out) {
	struct rec_interval_row *intervals = c->r->intervals.items;
	for (uint32_t s = 0; s < c->stacks.n; s++) {
		uint32_t *rows = &by->rows[by->starts[s]];
		uint32_t n = by->starts[s + 1] - by->starts[s], before = 0;
		if (n > 1) {
			qsort_r(rows, n, sizeof *rows, compare_from, intervals);
		}
		for (uint32_t i = 0; i < n; i++) {
			buffer_varint(out, intervals[rows[i]].from - before);
			before = intervals[rows[i]].from;
		}
	}
}

/** Most blocks of a stack have one size: what is written is how far off that their bytes are. */
static void put_bytes(const struct columns *c, const struct by_stack *by, struct buffer *out) {
	for (uint32_t s = 0; s < c->stacks.n; s++) {
		const struct rec_stack *sum = &c->stacks.items[s].sum;
		uint64_t mean = sum->allocations ? sum->allocated_bytes / sum->allocations : 0;
		for (uint32_t i = by->starts[s]; i < by->starts[s + 1]; i++) {
			const struct rec_interval v = recording_interval(c->r, by->rows[i]);
			buffer_signed(out, (int64_t)(v.bytes - v.count * mean));
		}
	}
}

void columns_intervals(struct columns *c, struct buffer *out) {
	struct by_stack by;
	const struct rec_interval_row *rows = c->r->intervals.items;
	put_by_stack(c, rows, sizeof *rows, c->r->intervals.n, &by, out);
	put_from(c, &by, out);
	SORTED_COLUMN(out, by, c->r->intervals,
			row->until == REC_NEVER ? 0 : (uint32_t)row->until - row->from + 1)
	SORTED_COLUMN(out, by, c->r->intervals, rec_interval_of(row, c->r->wide.items).count)
	SORTED_COLUMN(out, by, c->r->intervals, rec_interval_of(row, c->r->wide.items).temporary)
	put_bytes(c, &by, out);
}

void columns_sizes(struct columns *c, struct buffer *out) {
	struct by_stack by;
	const struct rec_size *rows = c->r->sizes.items;
	put_by_stack(c, rows, sizeof *rows, c->r->sizes.n, &by, out);
	FOR_FIELDS(SORTED_FIELD, by, c->r->sizes, is_class, size, count, bytes, live);
}

void columns_handovers(struct columns *c, struct buffer *out) {
	buffer_varint(out, c->r->handovers.n);
	COLUMNS(out, c->r->handovers, from, to, blocks, bytes)
}

void columns_samples(struct columns *c, struct buffer *out) {
	buffer_varint(out, c->r->samples.n);
	RISING(out, c->r->samples, time_ns)
	COLUMNS(out, c->r->samples, rss_bytes, ours_bytes, heap_bytes, n_threads)
}

// ---- tables of texts: functions with their files and modules, and threads

enum { FLAG_YOURS = 1, FLAG_LIBRARY = 2, FLAG_NAMED = 4, FLAG_RUNTIME = 8, FLAG_WRAPPER = 16 };

static uint32_t flags_of(const struct name *name) {
	return (name->owner == OWNER_YOURS                    ? FLAG_YOURS
						   : name->owner == OWNER_LIBRARY ? FLAG_LIBRARY
														  : 0) |
			(name->has_name ? FLAG_NAMED : 0) | (name->is_runtime ? FLAG_RUNTIME : 0) |
			(name->is_wrapper ? FLAG_WRAPPER : 0);
}

struct slice columns_shown_path(const struct columns *c, struct slice path) {
	return c->options->is_redacted ? path_base(path) : path;
}

#define SYMBOL_COLUMN(value) EACH_ROW(c->frames->symbols, 1, buffer_varint(out, (value)))

/** Differences to the row before: numbers that were given in the rows' order are steps of 1. */
#define SYMBOL_STEPS(value)                                                              \
	for (uint32_t i = 1, now, before = 0; i < c->frames->symbols.n; i++, before = now) { \
		const struct frame_symbol *row = &c->frames->symbols.items[i];                   \
		now = (value);                                                                   \
		buffer_signed(out, (int64_t)now - before);                                       \
	}

void columns_symbols(struct columns *c, struct buffer *out) {
	struct texts *words = &c->words;
	buffer_varint(out, c->frames->symbols.n);
	SYMBOL_STEPS(texts_id(words, row->name->function))
	SYMBOL_COLUMN(texts_id(words, columns_shown_path(c, row->name->file)))
	SYMBOL_COLUMN(texts_id(words, columns_shown_path(c, row->name->module)))
	SYMBOL_COLUMN(c->options->is_redacted ? 0 : texts_id(words, row->name->symbol))
	SYMBOL_COLUMN(row->file)
	SYMBOL_COLUMN(flags_of(row->name))
	SYMBOL_COLUMN(texts_id(words, names_package(row->name)))
	SYMBOL_STEPS(row->name->function_id)
}

void columns_threads(struct columns *c, struct buffer *out) {
	buffer_varint(out, c->r->threads.n);
	COLUMN(out, c->r->threads, row->tid)
	COLUMN(out, c->r->threads, texts_id(&c->words, c->r->strings.items[row->name]))
	COLUMNS(out, c->r->threads, n_merged, first_ns)
	COLUMN(out, c->r->threads, row->last_ns - row->first_ns)
	COLUMNS(out, c->r->threads, allocations, allocated_bytes, frees, temporary, live_bytes,
			peak_bytes, foreign_frees)
	for (uint32_t i = 0; c->r->processes.n && i < c->r->threads.n; i++) {
		buffer_varint(out, rec_thread_process(c->r, i));
	}
}

/** How many, the length of each, then all of them without a gap. */
void columns_strings(struct columns *c, struct buffer *out) {
	EACH(s, c->stacks) {
		s->site.word = texts_id(&c->words, s->site.module);
		s->keeper.word = texts_id(&c->words, s->keeper.module);
	}
	const struct texts *t = &c->words;
	buffer_varint(out, t->n ? t->n : 1);
	buffer_varint(out, 0);
	for (uint32_t i = 1; i < t->n; i++) {
		buffer_varint(out, t->items[i].size);
	}
	for (uint32_t i = 1; i < t->n; i++) {
		buffer_slice(out, t->items[i]);
	}
}
