// SPDX-License-Identifier: MIT
/* Describes the tables of a recording, from registry.def. */
#include "trace/tables/tables.h"

#include "trace/events/events.h"

_Static_assert(sizeof(struct rec_lifetimes) == 64, "columns");
_Static_assert(sizeof(struct rec_interval_row) == 16, "four in a cache line");

// ---- columns

// In a file one table, in memory two: walking over stacks needs no lifetimes
struct stack_row {
	struct rec_stack stack; // first, so that both begin with its columns
	struct rec_lifetimes lifetimes;
};

#define LIFE(first, base, k) \
	{ first + (k), COLUMN_PLAIN, sizeof(uint32_t), base + (k) * sizeof(uint32_t), 0, 0 }
#define FOUR(first, base, k)                                                  \
	LIFE(first, base, k), LIFE(first, base, k + 1), LIFE(first, base, k + 2), \
			LIFE(first, base, k + 3)
#define LIFETIMES(first, base) \
	FOUR(first, base, 0), FOUR(first, base, 4), FOUR(first, base, 8), FOUR(first, base, 12)
#define MANY_lifetimes(first) LIFETIMES(first, offsetof(struct stack_row, lifetimes))
#define PAGES                 offsetof(struct rec_fullness, pages)
#define MANY_pages(first)                                                                       \
	FOUR(first, PAGES, 0), FOUR(first, PAGES, 4), LIFE(first, PAGES, 8), LIFE(first, PAGES, 9), \
			LIFE(first, PAGES, 10)

#define TABLE(number, name, ...)     \
	enum { name##_number = number }; \
	static const struct column name##_columns[] = {
#define SAME(number, name, ...) enum { name##_number = number };
#define COLUMN(number, way, letter, field, ...) \
	{number, COLUMN_##way, sizeof(((ROW *)0)->field), offsetof(ROW, field), 0, 0},
#define COLUMN_BY(number, way, letter, field, other, ...)                                         \
	{number, COLUMN_##way, sizeof(((ROW *)0)->field), offsetof(ROW, field), offsetof(ROW, other), \
			sizeof(((ROW *)0)->other)},
#define MANY(first, last, name, ...) MANY_##name(first),
#define END(name, bytes)                               \
	}                                                  \
	;                                                  \
	_Static_assert(sizeof(ROW) == (bytes), "columns"); \
	enum { name##_row_bytes = sizeof(ROW) };
#define TABLE_OWN(number, constant, ...) _Static_assert((number) == (constant), "registry.def");
#define OWN(number, constant, ...)       _Static_assert((number) == (constant), "registry.def");
#define END_OWN
#define TAKEN(...)
#define TABLES_TAKEN(...)
#define TABLES_FREE(...)
#include "trace/tables/registry.def"

// ---- tables

// The fields of a table of rows of `bytes` with the columns of `list`; `...`: further fields
#define TABLE_AS(text, list, bytes, ...)                                                     \
	{                                                                                        \
		.id = text##_number, .name = #text, .row_bytes = (bytes), .columns = list##_columns, \
		.n_columns = sizeof list##_columns / sizeof *list##_columns, __VA_ARGS__             \
	}
#define TABLE_OF(text, ...) TABLE_AS(text, text, text##_row_bytes, __VA_ARGS__)

// Rows have their unit in a field
#define UNIT(type, field) .unit = offsetof(type, field), .unit_width = sizeof(((type *)0)->field)

struct interval_row {
	struct rec_interval interval; // first
	uint32_t unit;
};

/** The size of most of the stack's blocks. The stack may be invalid. */
static uint32_t unit_of(const struct recording *r, uint32_t stack) {
	return stack < r->stacks.n ? r->stacks.items[stack].usual_size : 0;
}

static void get_intervals(void *rows, const void *user, uint64_t first, size_t n) {
	const struct recording *r = user;
	struct interval_row *out = rows;
	for (size_t i = 0; i < n; i++) {
		out[i].interval = recording_interval(r, (uint32_t)(first + i));
		out[i].unit = unit_of(r, out[i].interval.stack);
	}
}

/** Stacks precede intervals in a state. */
static bool put_intervals(const void *rows, void *user, uint64_t first, size_t n) {
	struct recording *r = user;
	const struct interval_row *in = rows;
	bool ok = true;
	for (size_t i = 0; ok && i < n; i++) {
		struct rec_interval v = in[i].interval;
		v.bytes += (uint64_t)v.count * unit_of(r, v.stack);
		ok = recording_set_interval(r, (uint32_t)(first + i), &v);
	}
	return ok;
}

const struct table table_locations = TABLE_OF(locations);
const struct table table_frames = TABLE_OF(frames);
const struct table table_nodes = TABLE_OF(nodes);
const struct table table_names = TABLE_OF(names);
const struct table table_counts = TABLE_OF(counts);
const struct table table_infos = TABLE_OF(infos);
const struct table table_start = TABLE_OF(start);

static void get_stacks(void *rows, const void *user, uint64_t first, size_t n) {
	const struct recording *r = user;
	struct stack_row *out = rows;
	for (size_t i = 0; i < n; i++) {
		out[i].stack = r->stacks.items[first + i];
		out[i].stack.live_blocks -= out[i].stack.left_blocks;
		out[i].stack.live_bytes -= out[i].stack.left_bytes;
		out[i].lifetimes = r->lifetimes.n ? r->lifetimes.items[first + i]
										  : (struct rec_lifetimes){.blocks = {0}};
	}
}

static bool put_stacks(const void *rows, void *user, uint64_t first, size_t n) {
	struct recording *r = user;
	const struct stack_row *in = rows;
	bool ok = first > 0 || RECORDING_ROOM(r, lifetimes, r->stacks.n);
	for (size_t i = 0; ok && i < n; i++) {
		r->stacks.items[first + i] = in[i].stack;
		r->stacks.items[first + i].live_blocks += in[i].stack.left_blocks;
		r->stacks.items[first + i].live_bytes += in[i].stack.left_bytes;
		r->lifetimes.items[first + i] = in[i].lifetimes;
	}
	return ok;
}

// Where each is in struct recording; ONE: a single row, in place
#define STATE_AS(text, list, bytes, ...) \
	{ TABLE_AS(text, list, bytes, __VA_ARGS__), offsetof(struct recording, text), false }
#define STATE(text, ...) STATE_AS(text, text, text##_row_bytes, __VA_ARGS__)
#define ONE(text) \
	{ TABLE_OF(text), offsetof(struct recording, text), true }
const struct state_table state_tables[] = {
		ONE(meta),
		ONE(summary),
		ONE(quality),
		STATE(modules),
		STATE_AS(stacks, stacks, sizeof(struct stack_row), UNIT(struct stack_row, stack.usual_size),
				.get = get_stacks, .put = put_stacks, .kept_bytes = sizeof(struct rec_stack)),
		STATE(edges),
		STATE_AS(curve, edges, sizeof(struct rec_edge)),
		STATE_AS(intervals, intervals, sizeof(struct interval_row), UNIT(struct interval_row, unit),
				.get = get_intervals, .put = put_intervals,
				.kept_bytes = sizeof(struct rec_interval_row)),
		STATE(sizes, UNIT(struct rec_size, size)),
		STATE(threads),
		STATE(handovers),
		STATE(samples),
		STATE(children),
		STATE(images),
		STATE(marks),
		STATE(allocators),
		STATE_AS(mapping_edges, edges, sizeof(struct rec_edge)),
		STATE(ranges),
		STATE(mappings),
		STATE(mapping_intervals),
		STATE(changes),
		STATE(looks),
		STATE(classes),
		STATE(grades),
		STATE(holders),
		STATE(parts),
		STATE(fullness),
		STATE(untouched),
		STATE(groups),
		STATE(processes),
		STATE(commands),
};
const size_t n_state_tables = N_OF(state_tables);
