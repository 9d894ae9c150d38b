// SPDX-License-Identifier: MIT
/* Checks all that recording.h claims, so that later code may index and add without checks. */
#include "trace/recording.h"
#include "wire/event.h"

/** Reject row `i` of a table, from `first` on, if `is_wrong` is true of `row`. */
#define REFUSE_ROWS(table, first, is_wrong, ...)                   \
	for (uint32_t i = (first); i < (table).n; i++) {               \
		const __typeof__(*(table).items) *row = &(table).items[i]; \
		if (is_wrong) {                                            \
			return err_format(why, __VA_ARGS__);                   \
		}                                                          \
	}

#define RANGE_OF(table, row_name, is_wrong) \
	REFUSE_ROWS(r->table, 0, is_wrong, row_name " %u is out of range", i)

/** Add a field to that of a sum; sets is_over on overflow. */
#define SUM_FIELD(sum, row, field) \
	is_over |= __builtin_add_overflow((sum)->field, (row)->field, &(sum)->field)

/** Add up fields of all rows. False: overflow. */
#define ADD_UP(sum, table, ...)                           \
	({                                                    \
		bool is_over = false;                             \
		EACH(row, table) {                                \
			FOR_FIELDS(SUM_FIELD, sum, row, __VA_ARGS__); \
		}                                                 \
		!is_over;                                         \
	})

static bool were_allocated(const struct recording *r, const char *what, bool adds_up,
		uint64_t blocks, uint64_t bytes, struct err *why) {
	return (adds_up && blocks <= r->summary.allocations && bytes <= r->summary.allocated_bytes) ||
			err_format(why, "the %s hold more than was allocated", what);
}

static bool is_string(const struct recording *r, uint32_t id) {
	return id < r->strings.n;
}

static bool has_nones(const struct recording *r, struct err *why) {
	if (!r->strings.n || !r->locations.n || !r->nodes.n || !r->threads.n || !r->modules.n) {
		return err_format(why, "row 0 of strings, locations, nodes, threads or modules is missing");
	}
	if (r->strings.items[0].size || r->nodes.items[0].parent || r->nodes.items[0].location ||
			r->locations.items[0].n_frames || r->locations.items[0].module) {
		return err_format(why, "row 0 of strings, locations or nodes is not empty");
	}
	return true;
}

static bool meta_is_valid(const struct recording *r, struct err *why) {
	const struct rec_meta *m = &r->meta;
	if (!is_string(r, m->exe) || !is_string(r, m->cwd) || !is_string(r, m->host) ||
			!is_string(r, m->version) || !is_string(r, m->called) || m->argv_first > r->strings.n ||
			m->n_argv > r->strings.n - m->argv_first) {
		return err_format(why, "meta: a string is out of range");
	}
	if (m->source > REC_FROM_KDE || m->ended > REC_DETACHED || m->end_reason > REC_END_LIMIT ||
			m->is_complete > 1 || m->has_free_stacks > 1) {
		return err_format(why, "meta: a value that has no meaning");
	}
	return true;
}

// ---- code: modules, locations, frames, nodes

static bool is_image(const struct recording *r, uint32_t image) {
	return r->images.n == 0 || image <= r->images.n;
}

static bool code_is_valid(const struct recording *r, struct err *why) {
	RANGE_OF(modules, "module",
			row->start > row->end || !is_string(r, row->path) || !is_string(r, row->package) ||
					!is_string(r, row->suppressions) ||
					row->build_id_bytes > sizeof row->build_id || !is_image(r, row->image) ||
					row->has_symbols > 1 || row->has_lines > 1 || row->is_unresolved > 1)
	RANGE_OF(locations, "location",
			row->module >= r->modules.n || row->first_frame > r->frames.n ||
					row->n_frames > r->frames.n - row->first_frame || row->is_exact > 1 ||
					row->is_mark > 1)
	RANGE_OF(frames, "frame",
			!is_string(r, row->function) || !is_string(r, row->symbol) ||
					!is_string(r, row->file) || !is_string(r, row->allocates))
	REFUSE_ROWS(r->nodes, 1, row->parent >= i, "node %u: its parent %u does not come before it", i,
			row->parent)
	REFUSE_ROWS(r->nodes, 1, row->location >= r->locations.n, "node %u: location %u is undefined",
			i, row->location)
	return true;
}

// ---- stacks

static bool stack_is_sound(const struct rec_stack *s) {
	return s->left_blocks <= s->live_blocks && s->left_bytes <= s->live_bytes &&
			s->live_blocks <= s->allocations && s->live_bytes <= s->allocated_bytes &&
			s->peak_blocks <= s->allocations && s->peak_bytes <= s->allocated_bytes &&
			s->temporary <= s->allocations - s->live_blocks &&
			s->short_lived <= s->allocations - s->live_blocks &&
			s->temporary_bytes <= s->allocated_bytes && s->reallocs <= s->allocations &&
			s->first_ns <= s->last_ns;
}

#define SEE_FIELD(sum, t, field) is_off |= (sum)->field != (t)->field
#define ARE_OFF(...)                                           \
	({                                                         \
		bool is_off = !adds_up;                                \
		FOR_FIELDS(SEE_FIELD, &sum, &r->summary, __VA_ARGS__); \
		is_off;                                                \
	})

static bool stack_sums_are_valid(const struct recording *r, struct err *why) {
	struct rec_stack sum = {0};
	const bool adds_up = ADD_UP(&sum, r->stacks, allocations, allocated_bytes, temporary,
			short_lived, reallocs, peak_blocks, peak_bytes, live_blocks, live_bytes);
	const char *off = ARE_OFF(allocations, allocated_bytes, temporary, short_lived, reallocs)
			? "allocations do not add up to the summary"
			: ARE_OFF(peak_blocks, peak_bytes) ? "parts of the peak do not add up to it"
			: ARE_OFF(live_blocks, live_bytes) ? "live blocks do not add up to the summary"
											   : NULL;
	return !off || err_format(why, "the stacks' %s", off);
}

static bool stacks_are_valid(const struct recording *r, struct err *why) {
	REFUSE_ROWS(r->stacks, 0, row->node >= r->nodes.n, "stack %u: node %u is undefined", i,
			row->node)
	REFUSE_ROWS(r->stacks, 0, row->thread >= r->threads.n, "stack %u: thread %u is undefined", i,
			row->thread)
	REFUSE_ROWS(r->stacks, 0, !stack_is_sound(row), "stack %u: more of a part than of the whole", i)
	return stack_sums_are_valid(r, why);
}

static bool summary_is_valid(const struct recording *r, struct err *why) {
	const struct rec_summary *t = &r->summary;
	uint64_t ended = t->allocations - t->live_blocks;
	if (t->live_blocks > t->allocations || t->gone_at_exec > ended ||
			t->frees != ended - t->gone_at_exec) {
		return err_format(why, "summary: freed, live and gone blocks are not all allocations");
	}
	return (t->left_bytes <= t->live_bytes && t->live_bytes - t->left_bytes <= t->peak_bytes &&
				   t->gone_at_exec_bytes <= t->allocated_bytes) ||
			err_format(why, "summary: more of a part than of the whole");
}

// ---- time: edges and intervals

static bool periods_are_valid(const struct recording *r, const struct rec_edge *edges, uint32_t n,
		const char *what, struct err *why) {
	if (n >= REC_NEVER) {
		return err_format(why, "%s: %u are too many", what, n);
	}
	struct rec_edge before = {0};
	for (uint32_t i = 0; i < n; i++) {
		const struct rec_edge *e = &edges[i];
		if (e->time_ns < before.end_ns || e->end_ns < e->time_ns) {
			return err_format(why, "%s %u: time does not rise", what, i);
		}
		if (e->min_bytes > e->bytes || e->bytes > r->summary.peak_bytes ||
				e->allocations < before.allocations ||
				e->allocated_bytes < before.allocated_bytes || e->temporary < before.temporary ||
				e->allocations > r->summary.allocations ||
				e->allocated_bytes > r->summary.allocated_bytes) {
			return err_format(why, "%s %u: its values are out of range", what, i);
		}
		before = *e;
	}
	return true;
}

// Changes at REC_NEVER + 1 edges, modulo 2^64
enum { PLACES = REC_NEVER + 1 };
struct change {
	uint64_t bytes, blocks;
};

static void change_by(struct change *c, const struct rec_interval *v) {
	c->bytes += v->bytes;
	c->blocks += v->count;
}

static bool is_in_range(const struct recording *r, const struct rec_interval *v) {
	bool is_never = v->until == REC_NEVER;
	return v->stack < r->stacks.n && v->from <= r->edges.n && v->temporary <= v->count &&
			(is_never ? v->temporary == 0 : v->until >= v->from && v->until <= r->edges.n);
}

// Add up what intervals change at each edge, in one pass over the largest table. Begins and ends
// are separate: an interval often begins where the last one ended, and would wait for that store.
// Those without end get an edge of their own
static bool add_intervals(const struct recording *r, struct change *begin, struct change *end,
		struct err *why) {
	struct change sum = {0}; // blocks cannot overflow: fewer than 2^32 numbers below 2^32
	bool is_over = false;
	for (uint32_t i = 0; i < r->intervals.n; i++) {
		const struct rec_interval v = recording_interval(r, i);
		if (!is_in_range(r, &v)) {
			return err_format(why, "interval %u is out of range", i);
		}
		sum.blocks += v.count;
		SUM_FIELD(&sum, &v, bytes);
		change_by(&begin[v.from], &v);
		change_by(&end[v.until], &v);
	}
	return were_allocated(r, "intervals", !is_over, sum.blocks, sum.bytes, why);
}

// Do the intervals add up to each edge?
static bool edges_agree(const struct rec_edge *edges, uint32_t n, const struct change *begin,
		const struct change *end, const char *what, struct err *why) {
	struct change live = {0};
	for (uint32_t i = 0; i < n; i++) {
		live.bytes += begin[i].bytes - end[i].bytes;
		live.blocks += begin[i].blocks - end[i].blocks;
		if (live.bytes != edges[i].bytes || live.blocks != edges[i].blocks) {
			return err_format(why, "%s %u: the intervals do not add up to it", what, i);
		}
	}
	return true;
}

static bool intervals_are_valid(const struct recording *r, struct err *why) {
	if (r->intervals.n == 0) {
		return true; // no detail, as in imported files
	}
	FREED struct change *begin = memory_new(2ul * PLACES, sizeof *begin);
	struct change *end = begin + PLACES;
	return add_intervals(r, begin, end, why) &&
			edges_agree(r->edges.items, r->edges.n, begin, end, "edge", why);
}

// ---- sizes

static bool size_is_sound(const struct rec_size *s) {
	uint64_t least, most;
	if (__builtin_mul_overflow(s->count, s->size, &least)) {
		return false;
	}
	if (!s->is_class) {
		return s->bytes == least;
	}
	// size .. 2 * size - 1; the class of 0 holds only 0
	return s->is_class == 1 && s->bytes >= least &&
			(__builtin_mul_overflow(least, 2, &most) || s->bytes <= most);
}

static bool sizes_are_valid(const struct recording *r, struct err *why) {
	struct rec_size sum = {0};
	const bool adds_up = ADD_UP(&sum, r->sizes, count, bytes);
	RANGE_OF(sizes, "size",
			row->stack >= r->stacks.n || row->live > row->count || !size_is_sound(row))
	REFUSE_ROWS(r->sizes, 1,
			row->stack < row[-1].stack || (row->stack == row[-1].stack && row->size < row[-1].size),
			"size %u is out of order", i)
	return were_allocated(r, "sizes", adds_up, sum.count, sum.bytes, why);
}

// ---- threads and the rest

static bool threads_are_valid(const struct recording *r, struct err *why) {
	struct rec_thread sum = {0};
	const bool adds_up = ADD_UP(&sum, r->threads, allocations, allocated_bytes, frees);
	RANGE_OF(threads, "thread",
			!is_string(r, row->name) || !is_image(r, row->image) || row->first_ns > row->last_ns ||
					row->temporary > row->allocations || row->live_bytes > row->allocated_bytes ||
					row->peak_bytes > row->allocated_bytes || row->foreign_frees > row->allocations)
	return were_allocated(r, "threads", adds_up, sum.allocations, sum.allocated_bytes, why);
}

static bool handovers_are_valid(const struct recording *r, struct err *why) {
	struct rec_handover sum = {0};
	RANGE_OF(handovers, "handover", row->from >= r->threads.n || row->to >= r->threads.n)
	return ADD_UP(&sum, r->handovers, blocks, bytes) ||
			err_format(why, "the handovers are too large");
}

static bool others_are_valid(const struct recording *r, struct err *why) {
	REFUSE_ROWS(r->samples, 1, row->time_ns < row[-1].time_ns, "sample %u: time does not rise", i)
	RANGE_OF(children, "child",
			!is_string(r, row->name) || !is_string(r, row->exe) || row->is_fork > 1 ||
					row->why >= REC_WHYS)
	RANGE_OF(images, "image",
			!is_string(r, row->exe) || row->is_unrecorded > 1 || row->is_too_narrow > 1 ||
					row->why >= REC_WHYS || (i && row->time_ns < row[-1].time_ns))
	RANGE_OF(processes, "process",
			row->parent >= r->processes.n || row->command >= r->commands.n ||
					row->live_blocks > row->allocations || row->live_bytes > row->allocated_bytes)
	RANGE_OF(commands, "command", !is_string(r, row->name) || !is_string(r, row->exe))
	REFUSE_ROWS(r->images, 0, row->process > 0 && row->process >= r->processes.n,
			"image %u: its process is out of range", i)
	REFUSE_ROWS(r->stacks, 0, row->command > 0 && row->command >= r->commands.n,
			"stack %u: its command is out of range", i)
	RANGE_OF(marks, "mark", !is_string(r, row->name) || (i && row->time_ns < row[-1].time_ns))
	RANGE_OF(allocators, "allocator",
			!is_string(r, row->module) || !is_string(r, row->functions) || !is_string(r, row->why))
	return true;
}

// ---- mappings

static bool mapping_sums_are_valid(const struct recording *r, struct err *why) {
	struct rec_mapping sum = {0};
	const bool adds_up = ADD_UP(&sum, r->mappings, peak_bytes, live_bytes);
	RANGE_OF(mappings, "mapping",
			row->node >= r->nodes.n || row->is_inside > 1 || row->first_ns > row->last_ns ||
					(row->command > 0 && row->command >= r->commands.n) ||
					row->live_maps > row->maps || row->peak_maps > row->maps ||
					row->live_bytes > row->mapped_bytes || row->peak_bytes > row->mapped_bytes)
	RANGE_OF(changes, "change",
			row->node >= r->nodes.n || row->what - 1u >= WIRE_CHANGES - 1u || row->is_inside > 1 ||
					row->first_ns > row->last_ns)
	return r->mappings.n == 0 ||
			(adds_up && sum.peak_bytes == r->summary.mapped_peak_bytes &&
					sum.live_bytes == r->summary.never_unmapped_bytes) ||
			err_format(why, "the mappings do not add up to the summary");
}

static bool ranges_are_valid(const struct recording *r, struct err *why) {
	RANGE_OF(ranges, "range",
			row->end <= row->start || row->mapping >= r->mappings.n ||
					(i > 0 && row->start < row[-1].end))
	uint64_t live = SUM(i, r->ranges.n, r->ranges.items[i].end - r->ranges.items[i].start);
	return r->ranges.n == 0 || live == r->summary.never_unmapped_bytes ||
			err_format(why, "the ranges do not add up to the summary");
}

static bool mapping_intervals_are_valid(const struct recording *r, struct err *why) {
	uint32_t n = r->mapping_edges.n;
	if (r->mapping_intervals.n == 0) {
		return true;
	}
	FREED struct change *begin = memory_new(2ul * PLACES, sizeof *begin);
	RANGE_OF(mapping_intervals, "mapping interval",
			row->stack >= r->mappings.n || row->from > n || row->until < row->from ||
					(row->until > n && row->until != REC_NEVER))
	REFUSE_ROWS(r->mapping_edges, 0, row->bytes > r->summary.mapped_peak_bytes,
			"mapping edge %u is larger than the peak", i)
	EACH(v, r->mapping_intervals) {
		change_by(&begin[v->from], v);
		change_by(&begin[PLACES + v->until], v);
	}
	return edges_agree(r->mapping_edges.items, n, begin, begin + PLACES, "mapping edge", why);
}

static bool looks_are_valid(const struct recording *r, struct err *why) {
	uint32_t part = 0;
	for (uint32_t i = 0; i < r->looks.n; i++) {
		const struct rec_look *look = &r->looks.items[i];
		uint64_t left = look->rss_bytes;
		for (; part < r->parts.n && r->parts.items[part].look == i; part++) {
			const struct rec_part *p = &r->parts.items[part];
			if (p->part >= REC_PARTS || p->mapping > r->mappings.n || p->name >= r->strings.n ||
					p->resident_bytes > left) {
				return err_format(why, "part %u is out of range", part);
			}
			left -= p->resident_bytes;
		}
		if (left > 0 || look->at >= REC_ATS || (i > 0 && look->time_ns < look[-1].time_ns)) {
			return err_format(why, "look %u: its parts do not add up to it", i);
		}
	}
	RANGE_OF(untouched, "untouched row",
			row->look >= r->looks.n || row->stack >= r->stacks.n ||
					row->resident_bytes > row->asked_bytes)
	RANGE_OF(fullness, "arena", row->kind >= REC_ARENAS)
	RANGE_OF(classes, "class",
			row->look >= r->looks.n || row->node >= r->nodes.n || row->name >= r->strings.n ||
					row->kind >= REC_CLASS_KINDS)
	RANGE_OF(grades, "grade",
			row->look >= r->looks.n || row->stack >= r->stacks.n || row->grade >= REC_GRADES ||
					row->class > r->classes.n)
	RANGE_OF(holders, "holder",
			row->look >= r->looks.n || row->above > i || row->kind >= REC_HOLDER_KINDS ||
					row->name >= r->strings.n || row->file >= r->strings.n ||
					row->mapping > r->mappings.n ||
					(row->kind == REC_HOLDER_BLOCKS && row->stack >= r->stacks.n))
	return part == r->parts.n || err_format(why, "part %u is of no look", part);
}

bool recording_is_valid(const struct recording *r, struct err *why) {
	return has_nones(r, why) && meta_is_valid(r, why) && code_is_valid(r, why) &&
			stacks_are_valid(r, why) && summary_is_valid(r, why) &&
			periods_are_valid(r, r->edges.items, r->edges.n, "edge", why) &&
			periods_are_valid(r, r->curve.items, r->curve.n, "point of the curve", why) &&
			intervals_are_valid(r, why) && sizes_are_valid(r, why) && threads_are_valid(r, why) &&
			handovers_are_valid(r, why) && others_are_valid(r, why) &&
			r->mapping_edges.n < REC_NEVER && mapping_sums_are_valid(r, why) &&
			ranges_are_valid(r, why) && mapping_intervals_are_valid(r, why) &&
			looks_are_valid(r, why);
}
