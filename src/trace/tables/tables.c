// SPDX-License-Identifier: MIT
/* Describes the tables of a recording, made from registry.def. */
#include "trace/tables/tables.h"

#include "trace/events/events.h"

// A new field needs a column. Then its struct has another size
_Static_assert(sizeof(struct rec_meta) == 144, "columns");       // two have none
_Static_assert(sizeof(struct rec_summary) == 31 * 8, "columns"); // two have none
_Static_assert(sizeof(struct rec_quality) == 14 * 8, "columns");
_Static_assert(sizeof(struct rec_module) == 80, "columns");
_Static_assert(sizeof(struct rec_location) == 24, "columns");
_Static_assert(sizeof(struct rec_frame) == 16, "columns");
_Static_assert(sizeof(struct rec_node) == 8, "columns");
_Static_assert(sizeof(struct rec_stack) == 112, "columns");
_Static_assert(sizeof(struct rec_lifetimes) == 64, "columns");
_Static_assert(sizeof(struct rec_edge) == 64, "columns");
_Static_assert(sizeof(struct rec_interval) == 24, "columns");
_Static_assert(sizeof(struct rec_interval_row) == 16, "four in a cache line");
_Static_assert(sizeof(struct rec_size) == 40, "columns");
_Static_assert(sizeof(struct rec_thread) == 88, "columns");
_Static_assert(sizeof(struct rec_handover) == 24, "columns");
_Static_assert(sizeof(struct rec_sample) == 80, "columns");
_Static_assert(sizeof(struct rec_child) == 24, "columns");
_Static_assert(sizeof(struct rec_image) == 16, "columns");
_Static_assert(sizeof(struct rec_mark) == 16, "columns");
_Static_assert(sizeof(struct rec_allocator) == 16, "columns");
_Static_assert(sizeof(struct rec_mapping) == 72, "columns");
_Static_assert(sizeof(struct rec_range) == 32, "columns");
_Static_assert(sizeof(struct rec_look) == 56, "columns");
_Static_assert(sizeof(struct rec_part) == 40, "columns");
_Static_assert(sizeof(struct rec_untouched) == 32, "columns");

// ---- columns, as registry.def has them

// In a file they are one table, in memory two: who goes through stacks needs no lifetimes
struct stack_row {
	struct rec_stack stack; // first: the columns of both begin with its own
	struct rec_lifetimes lifetimes;
};

#define LIFE(first, base, k) \
	{ first + k, COLUMN_PLAIN, sizeof(uint32_t), base + k * sizeof(uint32_t), 0, 0 }
#define LIFETIMES(first, base)                                                              \
	LIFE(first, base, 0), LIFE(first, base, 1), LIFE(first, base, 2), LIFE(first, base, 3), \
			LIFE(first, base, 4), LIFE(first, base, 5), LIFE(first, base, 6),               \
			LIFE(first, base, 7), LIFE(first, base, 8), LIFE(first, base, 9),               \
			LIFE(first, base, 10), LIFE(first, base, 11), LIFE(first, base, 12),            \
			LIFE(first, base, 13), LIFE(first, base, 14), LIFE(first, base, 15)

#define TABLE(number, name, ...)     \
	enum { name##_number = number }; \
	static const struct column name##_columns[] = {
#define SAME(number, name, ...) enum { name##_number = number };
#define COLUMN(number, way, letter, field, ...) \
	{number, COLUMN_##way, sizeof(((ROW *)0)->field), offsetof(ROW, field), 0, 0},
#define COLUMN_BY(number, way, letter, field, other, ...)                                         \
	{number, COLUMN_##way, sizeof(((ROW *)0)->field), offsetof(ROW, field), offsetof(ROW, other), \
			sizeof(((ROW *)0)->other)},
#define MANY(first, ...) LIFETIMES(first, offsetof(struct stack_row, lifetimes)),
#define END(name) \
	}             \
	;
#define TABLE_OWN(number, constant, ...) _Static_assert((number) == (constant), "registry.def");
#define OWN(number, constant, ...)       _Static_assert((number) == (constant), "registry.def");
#define END_OWN
#define TAKEN(...)
#define TABLES_TAKEN(...)
#define TABLES_FREE(...)
#include "trace/tables/registry.def"

// ---- tables

// The fields of every table of these columns; `...`: more of them
#define TABLE_WITH(text, row, list, ...)                                                         \
	{                                                                                            \
		.id = text##_number, .name = #text, .row_bytes = sizeof(row), .columns = list##_columns, \
		.n_columns = sizeof list##_columns / sizeof *list##_columns, __VA_ARGS__                 \
	}
#define TABLE_OF(text, row, list, measure) TABLE_WITH(text, row, list, .units = measure)

static void stack_units(uint64_t *out, const void *user, const void *rows, size_t n) {
	const struct rec_stack *s = rows;
	(void)user;
	for (size_t i = 0; i < n; i++) {
		out[i] = s[i].usual_size;
	}
}

static void size_units(uint64_t *out, const void *user, const void *rows, size_t n) {
	const struct rec_size *s = rows;
	(void)user;
	for (size_t i = 0; i < n; i++) {
		out[i] = s[i].size;
	}
}

// Stacks come before intervals in a state, so a reader has them; ids are not checked yet
static void interval_units(uint64_t *out, const void *user, const void *rows, size_t n) {
	const struct recording *r = user;
	const struct rec_interval *v = rows;
	for (size_t i = 0; i < n; i++) {
		uint32_t stack = v[i].stack;
		out[i] = stack < r->stacks.n ? r->stacks.items[stack].usual_size : 0;
	}
}

static void get_intervals(void *rows, const void *user, uint64_t first, size_t n) {
	const struct recording *r = user;
	struct rec_interval *v = rows;
	for (size_t i = 0; i < n; i++) {
		v[i] = recording_interval(r, (uint32_t)(first + i));
	}
}

const struct table table_locations = TABLE_OF(locations, struct rec_location, locations, NULL);
const struct table table_frames = TABLE_OF(frames, struct rec_frame, frames, NULL);
const struct table table_nodes = TABLE_OF(nodes, struct rec_node, nodes, NULL);
const struct table table_names = TABLE_OF(names, struct name_row, names, NULL);
const struct table table_counts = TABLE_OF(counts, struct counts_row, counts, NULL);
const struct table table_infos = TABLE_OF(infos, struct info_row, infos, NULL);
const struct table table_start = TABLE_OF(start, struct start_row, start, NULL);

static const struct table table_meta = TABLE_OF(meta, struct rec_meta, meta, NULL);
static const struct table table_summary = TABLE_OF(summary, struct rec_summary, summary, NULL);
static const struct table table_quality = TABLE_OF(quality, struct rec_quality, quality, NULL);
static const struct table table_modules = TABLE_OF(modules, struct rec_module, modules, NULL);
static const struct table table_edges = TABLE_OF(edges, struct rec_edge, edges, NULL);
static const struct table table_curve = TABLE_OF(curve, struct rec_edge, edges, NULL);
static const struct table table_sizes = TABLE_OF(sizes, struct rec_size, sizes, size_units);
static const struct table table_threads = TABLE_OF(threads, struct rec_thread, threads, NULL);
static const struct table table_handovers = TABLE_OF(handovers, struct rec_handover, handovers,
		NULL);
static const struct table table_samples = TABLE_OF(samples, struct rec_sample, samples, NULL);
static const struct table table_children = TABLE_OF(children, struct rec_child, children, NULL);
static const struct table table_images = TABLE_OF(images, struct rec_image, images, NULL);
static const struct table table_marks = TABLE_OF(marks, struct rec_mark, marks, NULL);
static const struct table table_allocators = TABLE_OF(allocators, struct rec_allocator, allocators,
		NULL);

static const struct table table_mapping_edges = TABLE_OF(mapping_edges, struct rec_edge, edges,
		NULL);
static const struct table table_ranges = TABLE_OF(ranges, struct rec_range, ranges, NULL);
static const struct table table_mappings = TABLE_OF(mappings, struct rec_mapping, mappings, NULL);
static const struct table table_mapping_intervals = TABLE_OF(mapping_intervals, struct rec_interval,
		mapping_intervals, NULL);
static const struct table table_looks = TABLE_OF(looks, struct rec_look, looks, NULL);
static const struct table table_parts = TABLE_OF(parts, struct rec_part, parts, NULL);
static const struct table table_untouched = TABLE_OF(untouched, struct rec_untouched, untouched,
		NULL);

static const struct column lifetime_columns[] = {LIFETIMES(32, 0)};
static const struct table table_lifetimes = TABLE_OF(stacks, struct rec_lifetimes, lifetime, NULL);
static const struct table table_own = {
		.id = stacks_number,
		.name = "stacks",
		.row_bytes = sizeof(struct rec_stack),
		.columns = stacks_columns,
		.n_columns = sizeof stacks_columns / sizeof *stacks_columns - REC_LIFETIMES,
		.units = stack_units,
};

static void get_stacks(void *rows, const void *user, uint64_t first, size_t n) {
	const struct recording *r = user;
	struct stack_row *out = rows;
	for (size_t i = 0; i < n; i++) {
		out[i].stack = r->stacks.items[first + i];
		out[i].lifetimes = r->lifetimes.n ? r->lifetimes.items[first + i]
										  : (struct rec_lifetimes){.blocks = {0}};
	}
}

static bool decode_stacks(const struct table_raw *raw, const struct table *t, void *user,
		struct err *err) {
	struct recording *r = user;
	if (!table_decode(raw, &table_own, r->stacks.items, r, err)) {
		return false;
	}
	r->lifetimes.items = arena_new(&r->arena, struct rec_lifetimes, r->stacks.n);
	if (!r->lifetimes.items) {
		return err_set(err, ERR_LIMIT, "table %s takes too much memory", t->name);
	}
	r->lifetimes.n = r->stacks.n;
	return table_decode(raw, &table_lifetimes, r->lifetimes.items, r, err);
}

static void stack_row_units(uint64_t *out, const void *user, const void *rows, size_t n) {
	const struct stack_row *row = rows;
	(void)user;
	for (size_t i = 0; i < n; i++) {
		out[i] = row[i].stack.usual_size;
	}
}

static const struct table table_stacks = TABLE_WITH(stacks, struct stack_row, stacks,
		.units = stack_row_units, .get = get_stacks, .decode = decode_stacks,
		.kept_bytes = sizeof(struct rec_stack));

static const struct table table_intervals = TABLE_WITH(intervals, struct rec_interval, intervals,
		.units = interval_units, .get = get_intervals, .decode = intervals_decode,
		.kept_bytes = sizeof(struct rec_interval_row));

const struct state_table state_tables[] = {
		{&table_meta, offsetof(struct recording, meta), true},
		{&table_summary, offsetof(struct recording, summary), true},
		{&table_quality, offsetof(struct recording, quality), true},
		{&table_modules, offsetof(struct recording, modules), false},
		{&table_stacks, offsetof(struct recording, stacks), false},
		{&table_edges, offsetof(struct recording, edges), false},
		{&table_curve, offsetof(struct recording, curve), false},
		{&table_intervals, offsetof(struct recording, intervals), false},
		{&table_sizes, offsetof(struct recording, sizes), false},
		{&table_threads, offsetof(struct recording, threads), false},
		{&table_handovers, offsetof(struct recording, handovers), false},
		{&table_samples, offsetof(struct recording, samples), false},
		{&table_children, offsetof(struct recording, children), false},
		{&table_images, offsetof(struct recording, images), false},
		{&table_marks, offsetof(struct recording, marks), false},
		{&table_allocators, offsetof(struct recording, allocators), false},
		{&table_mapping_edges, offsetof(struct recording, mapping_edges), false},
		{&table_ranges, offsetof(struct recording, ranges), false},
		{&table_mappings, offsetof(struct recording, mappings), false},
		{&table_mapping_intervals, offsetof(struct recording, mapping_intervals), false},
		{&table_looks, offsetof(struct recording, looks), false},
		{&table_parts, offsetof(struct recording, parts), false},
		{&table_untouched, offsetof(struct recording, untouched), false},
};
const size_t n_state_tables = sizeof state_tables / sizeof *state_tables;
