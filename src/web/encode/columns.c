// SPDX-License-Identifier: MIT
/*
 * The tables without texts. One column after the other compresses well: neighbours are alike.
 * Rising columns are written as differences.
 */
#include "web/encode/columns.h"

#include "base/sorted.h"

#include <stdlib.h>

void columns_nodes(const struct columns *c, struct buffer *out) {
	const struct frames *f = c->frames;
	buffer_varint(out, f->n_nodes);
	for (uint32_t i = 1; i < f->n_nodes; i++) {
		buffer_varint(out, i - f->nodes[i].parent);
	}
	for (uint32_t i = 1; i < f->n_nodes; i++) {
		buffer_varint(out, f->nodes[i].symbol);
	}
	for (uint32_t i = 1; i < f->n_nodes; i++) {
		buffer_varint(out, f->nodes[i].line);
	}
}

/** With its length in bytes before it, so that it can be read when it is asked for. */
static void put_sized(struct buffer *out, struct buffer *column) {
	buffer_sized(out, buffer_view(column));
	out->failed |= column->failed;
	buffer_clear(column);
}

#define STACK_COLUMN(out, c, value)                         \
	for (uint32_t i = 0; i < (c)->stacks.n; i++) {          \
		const struct page_stack *s = &(c)->stacks.items[i]; \
		buffer_varint(&column, (value));                    \
	}                                                       \
	put_sized((out), &column);

void columns_stacks(const struct columns *c, struct buffer *out) {
	struct buffer column = {0};
	buffer_varint(out, c->stacks.n);
	uint32_t before = 0;
	for (uint32_t i = 0; i < c->stacks.n; i++) {
		buffer_varint(out, c->stacks.items[i].node - before);
		before = c->stacks.items[i].node;
	}
	STACK_COLUMN(out, c, s->node - s->site);
	STACK_COLUMN(out, c, s->site_word);
	STACK_COLUMN(out, c, s->thread);
	STACK_COLUMN(out, c, s->sum.allocations);
	STACK_COLUMN(out, c, s->sum.allocated_bytes);
	STACK_COLUMN(out, c, s->sum.temporary);
	STACK_COLUMN(out, c, s->sum.temporary_bytes);
	STACK_COLUMN(out, c, s->sum.short_lived);
	STACK_COLUMN(out, c, s->sum.peak_blocks);
	STACK_COLUMN(out, c, s->sum.peak_bytes);
	STACK_COLUMN(out, c, s->sum.live_blocks);
	STACK_COLUMN(out, c, s->sum.live_bytes);
	STACK_COLUMN(out, c, s->sum.reallocs);
	STACK_COLUMN(out, c, s->sum.first_ns);
	STACK_COLUMN(out, c, s->sum.last_ns - s->sum.first_ns);
	for (size_t k = 0; k < REC_LIFETIMES; k++) {
		STACK_COLUMN(out, c, s->lifetimes.blocks[k]);
	}
	buffer_finish(&column);
}

/** Fields of a table's rows, each a column of its own. */
#define COLUMN(out, table, type, value)        \
	for (uint32_t i = 0; i < (table).n; i++) { \
		const type *row = &(table).items[i];   \
		buffer_varint((out), (value));         \
	}

/** The same for what rises from row to row. */
#define RISING(out, table, type, field)                             \
	for (uint32_t i = 0; i < (table).n; i++) {                      \
		const type *row = &(table).items[i];                        \
		buffer_varint((out), row->field - (i ? row[-1].field : 0)); \
	}

void columns_periods(const struct rec_edge *items, uint32_t n, struct buffer *out) {
	struct {
		const struct rec_edge *items;
		uint32_t n;
	} p = {items, n};
	buffer_varint(out, p.n);
	RISING(out, p, struct rec_edge, time_ns)
	COLUMN(out, p, struct rec_edge, row->end_ns - row->time_ns)
	COLUMN(out, p, struct rec_edge, row->bytes)
	COLUMN(out, p, struct rec_edge, row->blocks)
	COLUMN(out, p, struct rec_edge, row->min_bytes)
	RISING(out, p, struct rec_edge, allocations)
	RISING(out, p, struct rec_edge, allocated_bytes)
	RISING(out, p, struct rec_edge, temporary)
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
static bool put_by_stack(struct columns *c, const void *rows, size_t row_bytes, uint32_t n,
		struct by_stack *out, struct buffer *column) {
	uint32_t *next = arena_new(c->arena, uint32_t, (size_t)c->stacks.n + 2);
	out->starts = arena_new(c->arena, uint32_t, (size_t)c->stacks.n + 1);
	out->rows = arena_new(c->arena, uint32_t, (size_t)n + 1);
	if (!next || !out->starts || !out->rows) {
		return false;
	}
	for (uint32_t i = 0; i < n; i++) {
		out->starts[stack_of(c, rows, row_bytes, i) + 1]++;
	}
	for (uint32_t s = 0; s < c->stacks.n; s++) {
		out->starts[s + 1] += out->starts[s];
		next[s + 1] = out->starts[s + 1];
	}
	for (uint32_t i = 0; i < n; i++) {
		out->rows[next[stack_of(c, rows, row_bytes, i)]++] = i;
	}
	buffer_varint(column, n);
	for (uint32_t s = 0; s < c->stacks.n; s++) {
		buffer_varint(column, out->starts[s + 1] - out->starts[s]);
	}
	return true;
}

#define SORTED_COLUMN(out, by, table, type, value)      \
	for (uint32_t i = 0; i < (table).n; i++) {          \
		const type *row = &(table).items[(by).rows[i]]; \
		buffer_varint((out), (value));                  \
	}

static int compare_from(const void *x, const void *y, void *user) {
	const struct rec_interval_row *intervals = user;
	const struct rec_interval_row *a = &intervals[*(const uint32_t *)x];
	const struct rec_interval_row *b = &intervals[*(const uint32_t *)y];
	int order = compare_u64(a->from, b->from);
	return order ? order : compare_u64(a->until, b->until);
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

bool columns_intervals(struct columns *c, struct buffer *out) {
	struct by_stack by;
	const struct rec_interval_row *rows = c->r->intervals.items;
	if (!put_by_stack(c, rows, sizeof *rows, c->r->intervals.n, &by, out)) {
		return false;
	}
	put_from(c, &by, out);
	SORTED_COLUMN(out, by, c->r->intervals, struct rec_interval_row,
			row->until == REC_NEVER ? 0 : (uint32_t)row->until - row->from + 1)
	SORTED_COLUMN(out, by, c->r->intervals, struct rec_interval_row,
			rec_interval_of(row, c->r->wide.items).count)
	SORTED_COLUMN(out, by, c->r->intervals, struct rec_interval_row,
			rec_interval_of(row, c->r->wide.items).temporary)
	put_bytes(c, &by, out);
	return true;
}

bool columns_sizes(struct columns *c, struct buffer *out) {
	struct by_stack by;
	const struct rec_size *rows = c->r->sizes.items;
	if (!put_by_stack(c, rows, sizeof *rows, c->r->sizes.n, &by, out)) {
		return false;
	}
	SORTED_COLUMN(out, by, c->r->sizes, struct rec_size, row->is_class)
	SORTED_COLUMN(out, by, c->r->sizes, struct rec_size, row->size)
	SORTED_COLUMN(out, by, c->r->sizes, struct rec_size, row->count)
	SORTED_COLUMN(out, by, c->r->sizes, struct rec_size, row->bytes)
	SORTED_COLUMN(out, by, c->r->sizes, struct rec_size, row->live)
	return true;
}

void columns_handovers(const struct columns *c, struct buffer *out) {
	buffer_varint(out, c->r->handovers.n);
	COLUMN(out, c->r->handovers, struct rec_handover, row->from)
	COLUMN(out, c->r->handovers, struct rec_handover, row->to)
	COLUMN(out, c->r->handovers, struct rec_handover, row->blocks)
	COLUMN(out, c->r->handovers, struct rec_handover, row->bytes)
}

/**
 * The samples, and between two of them the most that was ever resident, which the kernel knows
 * although no sample saw it: a line through the samples alone goes below a heap that rose and fell
 * in between. It was at some time up to that of the sample that learned of it: at the heap's peak,
 * if that was then, else half-way.
 */
static void put_peak_in(const struct recording *r, struct rec_sample *rows, uint32_t *n) {
	uint64_t seen_ns = r->summary.peak_rss_time_ns, bytes = r->summary.peak_rss_bytes;
	uint32_t at = 0;
	for (; at < r->samples.n && r->samples.items[at].time_ns < seen_ns; at++) {
		rows[at] = r->samples.items[at];
	}
	uint64_t before_ns = at ? rows[at - 1].time_ns : 0;
	uint64_t after_ns = at < r->samples.n ? r->samples.items[at].time_ns : seen_ns;
	bool is_sampled = (at < r->samples.n && r->samples.items[at].rss_bytes >= bytes) ||
			(at && rows[at - 1].rss_bytes >= bytes);
	*n = at;
	if (r->samples.n && !is_sampled && bytes && before_ns < after_ns) {
		uint64_t peak_ns = r->summary.peak_time_ns;
		bool is_heaps = peak_ns > before_ns && peak_ns <= after_ns;
		rows[at] = r->samples.items[at < r->samples.n ? at : at - 1];
		rows[at].rss_bytes = bytes;
		rows[at].time_ns = is_heaps ? peak_ns : before_ns + (after_ns - before_ns) / 2;
		rows[at].heap_bytes = is_heaps ? r->summary.peak_bytes : rows[at].heap_bytes;
		(*n)++;
	}
	for (; at < r->samples.n; at++) {
		rows[(*n)++] = r->samples.items[at];
	}
}

bool columns_samples(const struct columns *c, struct buffer *out) {
	struct {
		struct rec_sample *items;
		uint32_t n;
	} rows;
	rows.items = arena_new(c->arena, struct rec_sample, c->r->samples.n + 1ul);
	if (!rows.items) {
		return false;
	}
	put_peak_in(c->r, rows.items, &rows.n);
	buffer_varint(out, rows.n);
	RISING(out, rows, struct rec_sample, time_ns)
	COLUMN(out, rows, struct rec_sample, row->rss_bytes)
	COLUMN(out, rows, struct rec_sample, row->ours_bytes)
	COLUMN(out, rows, struct rec_sample, row->heap_bytes)
	COLUMN(out, rows, struct rec_sample, row->n_threads)
	return true;
}
