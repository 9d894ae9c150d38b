// SPDX-License-Identifier: MIT
/* Decides which stacks a lens keeps, and what each costs, in the whole recording or in a range. */
#include "engine/lens/parts.h"

const char *const lens_group_names[N_LENS_GROUPS] = {
		[LENS_BY_FUNCTION] = "function",
		[LENS_BY_PACKAGE] = "package",
		[LENS_BY_MODULE] = "module",
		[LENS_BY_FILE] = "file",
};

struct lens lens_whole(void) {
	return (struct lens){.metric = LENS_PEAK};
}

// ---- which stacks

enum { HAS_FOCUS = (uint32_t)1 << 31 };

/** Per node: which texts its stack holds, and whether it goes through the focus. */
static uint32_t *find_held(const struct lens *l, const struct recording *r, const struct names *n,
		struct arena *scratch) {
	const struct lens_match match = lens_match_names(l, r, n, scratch);
	uint32_t *held = arena_new(scratch, uint32_t, r->nodes.n);
	uint32_t *places = arena_new(scratch, uint32_t, r->locations.n);
	for (uint32_t i = 1; i < r->locations.n; i++) {
		const struct name_list frames = names_of(n, i);
		bool is_focus = l->n_focus && FIND_IN(f, frames, lens_frame_of(&match, f) & LENS_IS_FOCUS);
		places[i] = (match.locations ? match.locations[i] : 0) | (is_focus ? HAS_FOCUS : 0);
	}
	for (uint32_t i = 1; i < r->nodes.n; i++) {
		const struct rec_node *node = &r->nodes.items[i];
		held[i] = held[node->parent] | places[node->location];
	}
	return held;
}

/** Which bits are asked for, and which of them a stack must have. */
static void find_wanted(const struct lens *l, uint32_t *asked, uint32_t *wanted) {
	*asked = *wanted = l->n_focus ? HAS_FOCUS : 0;
	for (uint32_t i = 0; i < l->n_texts; i++) {
		*asked |= (uint32_t)1 << i;
		*wanted |= l->texts[i].is_negated ? 0 : (uint32_t)1 << i;
	}
}

static void leave_out_by_names(const struct lens *l, const struct recording *r,
		const struct names *n, struct arena *scratch, uint8_t *is_out) {
	uint32_t asked, wanted;
	find_wanted(l, &asked, &wanted);
	const uint32_t *held = find_held(l, r, n, scratch);
	for (uint32_t i = 0; i < r->stacks.n; i++) {
		is_out[i] |= (held[r->stacks.items[i].node] & asked) != wanted;
	}
}

static void leave_out_by_threads(const struct lens *l, const struct recording *r,
		struct arena *scratch, uint8_t *is_out) {
	bool *is_asked = arena_new(scratch, bool, r->threads.n);
	for (uint32_t i = 1; i < r->threads.n; i++) {
		struct slice name = r->strings.items[r->threads.items[i].name];
		is_asked[i] = ANY(k, l->n_threads, slice_equal(name, l->threads[k]));
	}
	for (uint32_t i = 0; i < r->stacks.n; i++) {
		is_out[i] |= !is_asked[r->stacks.items[i].thread];
	}
}

/** Does a lens name this process or this command, one of which may be 0? */
static bool is_process(const struct recording *r, uint32_t process, uint32_t command,
		struct slice name) {
	struct slice digits = name;
	uint64_t number;
	const bool is_row = take_prefix(&digits, "#");
	if (process > 0 && take_decimal(&digits, &number) && digits.size == 0 &&
			number == (is_row ? process : r->processes.items[process].pid)) {
		return true;
	}
	return command > 0 && slice_equal(name, r->strings.items[r->commands.items[command].name]);
}

bool lens_has_process(const struct recording *r, struct slice name) {
	const struct rec_stack *s = r->stacks.items;
	return ANY(i, r->commands.n, is_process(r, 0, i, name)) ||
			ANY(i, r->stacks.n, is_process(r, rec_thread_process(r, s[i].thread), 0, name)) ||
			ANY(i, r->processes.n, !r->processes.items[i].allocations && is_process(r, i, 0, name));
}

static void leave_out_by_processes(const struct lens *l, const struct recording *r,
		uint8_t *is_out) {
	for (uint32_t i = 0; i < r->stacks.n; i++) {
		const struct rec_stack *s = &r->stacks.items[i];
		const uint32_t process = rec_thread_process(r, s->thread);
		is_out[i] |= !ANY(k, l->n_processes, is_process(r, process, s->command, l->processes[k]));
	}
}

/** Per stack: does the lens leave it out? NULL: none. */
static uint8_t *find_left_out(const struct lens *l, const struct recording *r,
		const struct names *n, struct arena *arena, struct arena *scratch) {
	bool has_names = l->n_texts || l->n_focus;
	uint8_t *is_out = lens_selects(l) ? arena_new(arena, uint8_t, r->stacks.n) : NULL;
	if (has_names) {
		leave_out_by_names(l, r, n, scratch, is_out);
	}
	if (l->n_threads) {
		leave_out_by_threads(l, r, scratch, is_out);
	}
	if (l->n_processes) {
		leave_out_by_processes(l, r, is_out);
	}
	return is_out;
}

// ---- what they cost

static uint64_t field_of(const struct rec_stack *s, const struct metric_field *field) {
	uint64_t v;
	memcpy(&v, (const uint8_t *)s + field->at, sizeof v);
	return v;
}

struct lens_costs lens_stack_costs(enum lens_metric metric, const struct rec_stack *s) {
	return (struct lens_costs){
			.bytes = field_of(s, &lens_metrics[metric].bytes),
			.blocks = field_of(s, &lens_metrics[metric].blocks),
			FIELDS_OF(s, allocations, allocated_bytes, temporary),
	};
}

static void whole_costs(const struct lens *l, const struct recording *r, struct lens_result *out) {
	EACH_NUMBER(i, r->stacks.n, !lens_leaves_out(out, i)) {
		out->stacks[i] = lens_stack_costs(l->metric, &r->stacks.items[i]);
		lens_costs_add(&out->total, &out->stacks[i]);
	}
}

/** Only of intervals that have some: their bytes have no column of their own. */
static void temporary_costs(const struct lens *l, const struct recording *r,
		struct lens_result *out) {
	for (uint32_t i = 0; i < r->stacks.n; i++) {
		out->stacks[i].bytes = 0;
		out->stacks[i].blocks = out->stacks[i].temporary;
	}
	out->total.bytes = 0;
	out->total.blocks = out->total.temporary;
	for (uint32_t i = 0; i < r->intervals.n; i++) {
		const struct rec_interval v = recording_interval(r, i);
		if (v.temporary && (int32_t)v.from > l->from && (int32_t)v.from <= l->to &&
				!lens_leaves_out(out, v.stack)) {
			unsigned __int128 share = (unsigned __int128)v.bytes * v.temporary / v.count;
			out->stacks[v.stack].bytes += (uint64_t)share;
			out->total.bytes += (uint64_t)share;
		}
	}
}

/** What a look counted is of one moment, chosen by the range. */
static bool has_range(const struct lens *l, const struct recording *r) {
	return l->has_range && r->of < METRIC_OF_RESIDENT;
}

static uint64_t moment_of(const struct lens *l, const struct recording *r) {
	bool is_largest = lens_metrics[l->metric].rule == METRIC_LIVE_AT_LARGEST;
	if (!has_range(l, r)) {
		return is_largest ? r->summary.peak_time_ns : r->meta.duration_ns;
	}
	return lens_edge_ns(r, is_largest ? (int32_t)lens_largest_edge(l, r) : l->to);
}

bool lens_apply(const struct lens *l, const struct recording *r, const struct names *n,
		struct arena *arena, struct lens_result *out, struct err *err) {
	SCOPED(arena) scratch = {0};
	if (lens_metrics[l->metric].of != r->of) {
		return err_usage(err, "m=%s is not of blocks, so only --by, --tree and --stacks show it",
				lens_metric_names[l->metric]);
	}
	*out = (struct lens_result){.moment_ns = moment_of(l, r),
			.stacks = arena_new(arena, struct lens_costs, r->stacks.n),
			.is_left_out = find_left_out(l, r, n, arena, &scratch)};
	if (has_range(l, r)) {
		lens_scan(l, r, out);
		if (lens_metrics[l->metric].rule == METRIC_MADE_TEMPORARY) {
			temporary_costs(l, r, out);
		}
	} else {
		whole_costs(l, r, out);
	}
	return true;
}
