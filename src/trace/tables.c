// SPDX-License-Identifier: MIT
#include "trace/tables.h"

/*
 * One line per column: id, field, way. Ids are for ever: a column that goes leaves a gap, a new
 * one takes a new id. Columns that others refer to come first.
 */

#define FIELD(id, field, way) \
	{ id, way, sizeof(((ROW *)0)->field), offsetof(ROW, field), 0, 0 }
#define FIELD_BY(id, field, way, other)                                                 \
	{                                                                                   \
		id, way, sizeof(((ROW *)0)->field), offsetof(ROW, field), offsetof(ROW, other), \
				sizeof(((ROW *)0)->other)                                               \
	}

#define P(id, field)        FIELD(id, field, COLUMN_PLAIN)
#define D(id, field)        FIELD(id, field, COLUMN_DELTA)
#define B(id, field)        FIELD(id, field, COLUMN_BACK)
#define H(id, field)        FIELD(id, field, COLUMN_HIGH)
#define L(id, field)        FIELD(id, field, COLUMN_LOW)
#define A(id, field, other) FIELD_BY(id, field, COLUMN_AFTER, other)
#define X(id, field, other) FIELD_BY(id, field, COLUMN_PRODUCT, other)
#define U(id, field, other) FIELD_BY(id, field, COLUMN_UNTIL, other)
#define I(id, field, other) FIELD_BY(id, field, COLUMN_ID, other)

#define TABLE(number, text, list, measure)                                     \
	{                                                                          \
		.id = number, .name = text, .row_bytes = sizeof(ROW), .columns = list, \
		.n_columns = sizeof list / sizeof *list, .units = measure              \
	}

// A new field needs a column. Then its struct has another size
_Static_assert(sizeof(struct rec_meta) == 120, "columns");       // two have none
_Static_assert(sizeof(struct rec_summary) == 28 * 8, "columns"); // two have none
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

// ---- log

#define ROW struct rec_location
static const struct column location_columns[] = {P(1, module), H(2, pc), L(3, pc), P(4, is_exact),
		P(5, is_mark)};
const struct table table_locations = TABLE(2, "locations", location_columns, NULL);
#undef ROW

#define ROW struct rec_frame
static const struct column frame_columns[] = {D(1, function), A(2, symbol, function), D(3, file),
		P(4, line)};
const struct table table_frames = TABLE(3, "frames", frame_columns, NULL);
#undef ROW

#define ROW struct rec_node
static const struct column node_columns[] = {B(1, parent), P(2, location)};
const struct table table_nodes = TABLE(4, "nodes", node_columns, NULL);
#undef ROW

#define ROW struct name_row
static const struct column name_columns[] = {D(1, location), D(2, first_frame), P(3, n_frames)};
const struct table table_names = TABLE(5, "names", name_columns, NULL);
#undef ROW

// ---- state

#define ROW struct counts_row
static const struct column count_columns[] = {P(1, strings), P(2, locations), P(3, frames),
		P(4, nodes)};
const struct table table_counts = TABLE(16, "counts", count_columns, NULL);
#undef ROW

#define ROW struct rec_meta
static const struct column meta_columns[] = {P(1, pid), P(2, exe), P(3, cwd), P(4, host),
		P(5, argv_first), P(6, n_argv), P(7, n_cpus), P(8, page_bytes), P(9, system_memory_bytes),
		P(10, memory_limit_bytes), P(11, wall_start_ns), P(12, duration_ns), P(13, written_ns),
		P(14, source), P(15, ended), P(16, is_complete), P(17, has_free_stacks), P(18, exit_status),
		P(19, n_images), P(20, version), P(25, end_reason), P(28, end_limit)};
static const struct table table_meta = TABLE(17, "meta", meta_columns, NULL);
#undef ROW

#define ROW struct rec_summary
static const struct column summary_columns[] = {P(1, allocations), P(2, allocated_bytes),
		P(3, frees), P(4, reallocs), P(5, temporary), P(6, short_lived), P(7, failed),
		P(8, peak_bytes), P(9, peak_blocks), P(10, peak_time_ns), P(11, live_bytes),
		P(12, live_blocks), P(13, peak_rss_bytes), P(14, peak_rss_time_ns), P(15, minor_faults),
		P(16, major_faults), P(17, user_cpu_ns), P(18, system_cpu_ns), P(19, gone_at_exec),
		P(20, gone_at_exec_bytes), P(21, old_blocks), P(22, old_bytes), P(23, old_freed_blocks),
		P(24, old_freed_bytes), P(25, peak_low_bytes), P(26, peak_high_bytes)};
static const struct table table_summary = TABLE(18, "summary", summary_columns, NULL);
#undef ROW

#define ROW struct rec_quality
static const struct column quality_columns[] = {P(1, lost_events), P(2, truncated_stacks),
		P(3, abandoned_hooks), P(4, skipped_numbers), P(5, unknown_frees), P(6, double_allocations),
		P(7, time_corrections), P(8, children_forked), P(9, children_executed),
		P(10, detail_ends_ns), P(11, events_dropped), P(12, clock_is_not_tsc),
		P(13, recording_stopped_early), P(14, marks_dropped), P(20, stopped_ns)};
static const struct table table_quality = TABLE(19, "quality", quality_columns, NULL);
#undef ROW

#define ROW struct rec_module
static const struct column module_columns[] = {D(1, start), A(2, end, start), A(3, bias, start),
		D(4, path), P(5, image), P(6, package), I(7, build_id, build_id_bytes), P(8, has_symbols),
		P(9, has_lines), P(10, is_unresolved), P(11, suppressions)};
static const struct table table_modules = TABLE(20, "modules", module_columns, NULL);
#undef ROW

static void stack_units(uint64_t *out, const void *user, const void *rows, size_t n) {
	const struct rec_stack *s = rows;
	(void)user;
	for (size_t i = 0; i < n; i++) {
		out[i] = s[i].usual_size;
	}
}

// In a file they are one table, in memory two: who goes through stacks needs no lifetimes
struct stack_row {
	struct rec_stack stack;
	struct rec_lifetimes lifetimes;
};

#define ROW struct rec_stack
#define STACK_COLUMNS                                                                             \
	D(1, node), P(2, usual_size), P(3, allocations), X(4, allocated_bytes, allocations),          \
			P(5, temporary), P(6, short_lived), P(7, peak_blocks), X(8, peak_bytes, peak_blocks), \
			P(9, live_blocks), X(10, live_bytes, live_blocks), P(11, reallocs), D(12, first_ns),  \
			A(13, last_ns, first_ns), X(14, temporary_bytes, temporary), P(15, thread)
#define LIFE(base, k) \
	{ 32 + k, COLUMN_PLAIN, sizeof(uint32_t), base + k * sizeof(uint32_t), 0, 0 }
#define LIFETIME_COLUMNS(base)                                                                \
	LIFE(base, 0), LIFE(base, 1), LIFE(base, 2), LIFE(base, 3), LIFE(base, 4), LIFE(base, 5), \
			LIFE(base, 6), LIFE(base, 7), LIFE(base, 8), LIFE(base, 9), LIFE(base, 10),       \
			LIFE(base, 11), LIFE(base, 12), LIFE(base, 13), LIFE(base, 14), LIFE(base, 15)
static const struct column stack_columns[] = {STACK_COLUMNS};
static const struct column lifetime_columns[] = {LIFETIME_COLUMNS(0)};
static const struct column row_columns[] = {STACK_COLUMNS,
		LIFETIME_COLUMNS(offsetof(struct stack_row, lifetimes))};
static const struct table table_own = TABLE(21, "stacks", stack_columns, stack_units);
#undef ROW
#define ROW struct rec_lifetimes
static const struct table table_lifetimes = TABLE(21, "stacks", lifetime_columns, NULL);
#undef ROW

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

static const struct table table_stacks = {
		.id = 21,
		.name = "stacks",
		.row_bytes = sizeof(struct stack_row),
		.columns = row_columns,
		.n_columns = sizeof row_columns / sizeof *row_columns,
		.units = stack_row_units,
		.get = get_stacks,
		.decode = decode_stacks,
		.kept_bytes = sizeof(struct rec_stack),
};

#define ROW struct rec_edge
static const struct column edge_columns[] = {D(1, time_ns), A(2, end_ns, time_ns), D(3, bytes),
		D(4, blocks), A(5, min_bytes, bytes), D(6, allocations), D(7, allocated_bytes),
		D(8, temporary)};
static const struct table table_edges = TABLE(22, "edges", edge_columns, NULL);
static const struct table table_curve = TABLE(31, "curve", edge_columns, NULL);
#undef ROW

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

#define ROW struct rec_interval
static const struct column interval_columns[] = {D(1, stack), D(2, from), U(3, until, from),
		P(4, count), X(5, bytes, count), P(6, temporary)};
static const struct table table_intervals = {
		.id = 23,
		.name = "intervals",
		.row_bytes = sizeof(ROW),
		.columns = interval_columns,
		.n_columns = sizeof interval_columns / sizeof *interval_columns,
		.units = interval_units,
		.get = get_intervals,
		.decode = intervals_decode,
		.kept_bytes = sizeof(struct rec_interval_row),
};
#undef ROW

static void size_units(uint64_t *out, const void *user, const void *rows, size_t n) {
	const struct rec_size *s = rows;
	(void)user;
	for (size_t i = 0; i < n; i++) {
		out[i] = s[i].size;
	}
}

#define ROW struct rec_size
static const struct column size_columns[] = {D(1, stack), P(2, is_class), D(3, size), P(4, count),
		X(5, bytes, count), P(6, live)};
static const struct table table_sizes = TABLE(24, "sizes", size_columns, size_units);
#undef ROW

#define ROW struct rec_thread
static const struct column thread_columns[] = {D(1, tid), P(2, image), P(3, name), P(4, n_merged),
		D(5, first_ns), A(6, last_ns, first_ns), P(7, allocations), P(8, allocated_bytes),
		P(9, frees), P(10, temporary), P(11, live_bytes), P(12, peak_bytes), P(13, foreign_frees)};
static const struct table table_threads = TABLE(25, "threads", thread_columns, NULL);
#undef ROW

#define ROW struct rec_handover
static const struct column handover_columns[] = {D(1, from), P(2, to), P(3, blocks), P(4, bytes)};
static const struct table table_handovers = TABLE(26, "handovers", handover_columns, NULL);
#undef ROW

#define ROW struct rec_sample
static const struct column sample_columns[] = {D(1, time_ns), D(2, rss_bytes), D(3, rss_anon_bytes),
		D(4, rss_file_bytes), D(5, rss_shmem_bytes), D(6, ours_bytes), D(7, heap_bytes),
		D(8, minor_faults), D(9, major_faults), P(10, n_threads)};
static const struct table table_samples = TABLE(27, "samples", sample_columns, NULL);
#undef ROW

#define ROW struct rec_child
static const struct column child_columns[] = {D(1, pid), P(2, name), P(3, exe), P(4, is_fork),
		P(5, peak_rss_bytes), P(6, why)};
static const struct table table_children = TABLE(28, "children", child_columns, NULL);
#undef ROW

#define ROW struct rec_image
static const struct column image_columns[] = {P(1, exe), D(2, time_ns), P(3, is_unrecorded),
		P(4, is_too_narrow), P(6, why)};
static const struct table table_images = TABLE(29, "images", image_columns, NULL);
#undef ROW

#define ROW struct rec_mark
static const struct column mark_columns[] = {D(1, time_ns), P(2, name)};
static const struct table table_marks = TABLE(30, "marks", mark_columns, NULL);
#undef ROW

#define ROW struct rec_allocator
static const struct column allocator_columns[] = {P(1, module), P(2, functions), P(3, why),
		P(4, n_functions)};
static const struct table table_allocators = TABLE(32, "allocators", allocator_columns, NULL);
#undef ROW

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
};
const size_t n_state_tables = sizeof state_tables / sizeof *state_tables;

// ---- events

#define ROW struct info_row
static const struct column info_columns[] = {D(1, node), P(2, size)};
const struct table table_infos = TABLE(TABLE_INFOS, "infos", info_columns, NULL);
#undef ROW

#define ROW struct start_row
static const struct column start_columns[] = {P(1, allocations), P(2, time_ns)};
const struct table table_start = TABLE(TABLE_START, "start", start_columns, NULL);
#undef ROW
