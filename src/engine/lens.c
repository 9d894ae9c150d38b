// SPDX-License-Identifier: MIT
#include "engine/lens.h"

#include "base/parallel.h"
#include "engine/lens_match.h"

/**
 * One scan over the intervals. Every metric over a range asks the same of an interval: does it
 * begin in one span of edges, and does it end behind a third? So the loop knows no metric:
 *
 *                      begins in       ends behind
 *   peak               0 .. k          k              k: the largest edge of the range
 *   kept               from+1 .. to    to
 *   never freed        from+1 .. to    the last       (until is REC_NEVER)
 *   the others         from+1 .. to    (whenever)
 */

const char *const lens_metric_names[N_LENS_METRICS] = {
		[LENS_PEAK] = "peak",
		[LENS_NEVER_FREED] = "never-freed",
		[LENS_KEPT] = "kept",
		[LENS_ALLOCATIONS] = "allocations",
		[LENS_BYTES] = "bytes",
		[LENS_TEMPORARY] = "temporary",
};

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

static uint32_t focus_of(const struct lens_match *match, const struct names *n, uint32_t location) {
	uint32_t count;
	const struct name *frames = names_of(n, location, &count);
	for (uint32_t i = 0; i < count; i++) {
		if (lens_frame_of(match, &frames[i]) & LENS_IS_FOCUS) {
			return HAS_FOCUS;
		}
	}
	return 0;
}

/** Per node: which texts its stack holds, and whether it goes through the focus. */
static uint32_t *find_held(const struct lens *l, const struct recording *r, const struct names *n,
		struct arena *scratch, struct err *err) {
	struct lens_match match;
	uint32_t *held = arena_new(scratch, uint32_t, r->nodes.n);
	uint32_t *places = arena_new(scratch, uint32_t, r->locations.n);
	if (!held || !places) {
		(void)err_memory(err);
		return NULL;
	}
	if (!lens_match_names(l, r, n, scratch, &match, err)) {
		return NULL;
	}
	for (uint32_t i = 1; i < r->locations.n; i++) {
		places[i] = (match.locations ? match.locations[i] : 0) |
				(l->n_focus ? focus_of(&match, n, i) : 0);
	}
	for (uint32_t i = 1; i < r->nodes.n; i++) {
		const struct rec_node *node = &r->nodes.items[i];
		held[i] = held[node->parent] | places[node->location];
	}
	return held;
}

/** What a stack must hold of all that can be held. */
static void find_wanted(const struct lens *l, uint32_t *asked, uint32_t *wanted) {
	*asked = *wanted = l->n_focus ? HAS_FOCUS : 0;
	for (uint32_t i = 0; i < l->n_texts; i++) {
		*asked |= (uint32_t)1 << i;
		*wanted |= l->texts[i].is_negated ? 0 : (uint32_t)1 << i;
	}
}

static bool leave_out_by_names(const struct lens *l, const struct recording *r,
		const struct names *n, struct arena *scratch, uint8_t *is_out, struct err *err) {
	uint32_t asked, wanted;
	find_wanted(l, &asked, &wanted);
	const uint32_t *held = find_held(l, r, n, scratch, err);
	for (uint32_t i = 0; held && i < r->stacks.n; i++) {
		is_out[i] |= (held[r->stacks.items[i].node] & asked) != wanted;
	}
	return held != NULL;
}

static bool leave_out_by_threads(const struct lens *l, const struct recording *r,
		struct arena *scratch, uint8_t *is_out, struct err *err) {
	uint8_t *is_asked = arena_new(scratch, uint8_t, r->threads.n);
	if (!is_asked) {
		return err_memory(err);
	}
	for (uint32_t i = 1; i < r->threads.n; i++) {
		for (uint32_t k = 0; k < l->n_threads; k++) {
			is_asked[i] |= slice_equal(r->strings.items[r->threads.items[i].name], l->threads[k]);
		}
	}
	for (uint32_t i = 0; i < r->stacks.n; i++) {
		is_out[i] |= !is_asked[r->stacks.items[i].thread];
	}
	return true;
}

/** *is_out: per stack, whether the lens leaves it out; NULL: none is. */
static bool find_left_out(const struct lens *l, const struct recording *r, const struct names *n,
		struct arena *arena, struct arena *scratch, uint8_t **is_out, struct err *err) {
	*is_out = NULL;
	if (!l->n_texts && !l->n_focus && !l->n_threads) {
		return true;
	}
	*is_out = arena_new(arena, uint8_t, r->stacks.n);
	if (!*is_out) {
		return err_memory(err);
	}
	return (!(l->n_texts || l->n_focus) || leave_out_by_names(l, r, n, scratch, *is_out, err)) &&
			(!l->n_threads || leave_out_by_threads(l, r, scratch, *is_out, err));
}

// ---- what they cost

struct lens_costs lens_stack_costs(enum lens_metric metric, const struct rec_stack *s) {
	struct lens_costs c = {
			.allocations = s->allocations,
			.allocated_bytes = s->allocated_bytes,
			.temporary = s->temporary,
	};
	switch (metric) {
	case LENS_PEAK:
		c.bytes = s->peak_bytes;
		c.blocks = s->peak_blocks;
		break;
	case LENS_NEVER_FREED:
	case LENS_KEPT:
		c.bytes = s->live_bytes;
		c.blocks = s->live_blocks;
		break;
	case LENS_ALLOCATIONS:
	case LENS_BYTES:
	case N_LENS_METRICS:
		c.bytes = s->allocated_bytes;
		c.blocks = s->allocations;
		break;
	case LENS_TEMPORARY:
		c.bytes = s->temporary_bytes;
		c.blocks = s->temporary;
		break;
	}
	return c;
}

/** The largest edge after `from` up to `to`; edges.n, the end, if none is between. */
static uint32_t largest_edge(const struct lens *l, const struct recording *r) {
	uint32_t best = r->edges.n;
	for (int32_t i = l->from + 1; i <= l->to && i < (int32_t)r->edges.n; i++) {
		const struct rec_edge *e = &r->edges.items[i];
		if (best == r->edges.n || e->bytes > r->edges.items[best].bytes) {
			best = (uint32_t)i;
		}
	}
	return best;
}

/** Blocks that begin within `first` .. `first + span` and end behind `behind`. */
struct question {
	uint32_t first, span;
	int32_t behind;
};

static struct question question_of(const struct lens *l, const struct recording *r) {
	struct question q = {
			.first = (uint32_t)(l->from + 1),
			.span = (uint32_t)(l->to - l->from - 1),
			.behind = -1,
	};
	if (l->metric == LENS_PEAK) {
		uint32_t edge = largest_edge(l, r);
		q = (struct question){.first = 0, .span = edge, .behind = (int32_t)edge};
	} else if (l->metric == LENS_KEPT) {
		q.behind = l->to;
	} else if (l->metric == LENS_NEVER_FREED) {
		q.behind = REC_NEVER - 1;
	}
	return q;
}

/** All ones if `is`: the loop below has no branch that depends on an interval. */
static inline uint64_t mask_of(bool is) {
	return (uint64_t)0 - is;
}

static bool is_left_out(const struct lens_result *out, uint32_t stack) {
	return out->is_left_out && out->is_left_out[stack];
}

static void whole_costs(const struct lens *l, const struct recording *r, struct lens_result *out) {
	for (uint32_t i = 0; i < r->stacks.n; i++) {
		if (!is_left_out(out, i)) {
			out->stacks[i] = lens_stack_costs(l->metric, &r->stacks.items[i]);
			lens_costs_add(&out->total, &out->stacks[i]);
		}
	}
}

/** A scan in parts. The stacks of one are smaller than those of the next: no two add to the same one. */
struct scan {
	const struct lens *lens;
	struct lens_result *out;
	struct question question;
	const struct rec_wide *wide;
	unsigned n_parts;
	struct scan_part {
		const struct rec_interval_row *begin, *end;
		uint64_t least, behind; // what its stacks should be
		struct lens_costs total;
		bool is_disordered; // they are not
	} parts[PARALLEL_MOST];
};

/** Where a part's intervals begin: not among those of one stack. */
static const struct rec_interval_row *begin_of(const struct recording *r, unsigned n_parts,
		unsigned part) {
	const struct rec_interval_row *v = r->intervals.items;
	uint64_t n = r->intervals.n, at = parallel_begin(n, n_parts, part);
	while (at > 0 && at < n && v[at].stack == v[at - 1].stack) {
		at++;
	}
	return v + at;
}

static void one_part(struct scan *s, const struct recording *r) {
	const struct rec_interval_row *v = r->intervals.items;
	s->n_parts = 1;
	s->parts[0] = (struct scan_part){.begin = v, .end = v + r->intervals.n, .behind = UINT64_MAX};
}

static void make_parts(struct scan *s, const struct recording *r) {
	enum { LEAST = 200000 }; // intervals: for fewer, starting a thread costs more than it brings
	unsigned n = parallel_parts(r->intervals.n, LEAST);
	one_part(s, r);
	for (unsigned i = 1; i < n; i++) {
		const struct rec_interval_row *begin = begin_of(r, n, i);
		struct scan_part *before = &s->parts[i - 1], *part = &s->parts[i];
		if (begin == before->end || begin->stack <= before->least) {
			one_part(s, r);
			return;
		}
		*part = *before;
		before->end = part->begin = begin;
		before->behind = part->least = begin->stack;
		s->n_parts++;
	}
}

/** Those of a stack stand together: they are summed up in registers. Gives the end of them. */
static inline const struct rec_interval_row *add_up_stack(const struct scan *s,
		const struct rec_interval_row *row, const struct rec_interval_row *end,
		struct lens_costs *sum) {
	const struct question q = s->question;
	const uint32_t first = (uint32_t)(s->lens->from + 1);
	const uint32_t span = (uint32_t)(s->lens->to - s->lens->from - 1);
	const struct rec_wide *wide = s->wide;
	const uint32_t stack = row->stack;
	struct lens_costs c = {0};
	do {
		struct rec_interval v = rec_interval_of(row, wide);
		uint64_t is_made = mask_of(v.from - first <= span);
		uint64_t is_asked = mask_of((v.from - q.first <= q.span) & ((int32_t)v.until > q.behind));
		c.bytes += v.bytes & is_asked;
		c.blocks += v.count & is_asked;
		c.allocations += v.count & is_made;
		c.allocated_bytes += v.bytes & is_made;
		c.temporary += v.temporary & is_made;
		row++;
	} while (row < end && row->stack == stack);
	*sum = c;
	return row;
}

static void scan_part(void *user, unsigned number) {
	struct scan *s = user;
	struct scan_part *part = &s->parts[number];
	struct lens_costs total = {0}; // its own until the end: the parts lie in one cache line
	for (const struct rec_interval_row *v = part->begin; v < part->end;) {
		const uint32_t stack = v->stack;
		if (UNLIKELY(stack < part->least || stack >= part->behind)) {
			part->is_disordered = true;
			return;
		}
		struct lens_costs c;
		v = add_up_stack(s, v, part->end, &c);
		if (!is_left_out(s->out, stack)) {
			lens_costs_add(&s->out->stacks[stack], &c);
			lens_costs_add(&total, &c);
		}
	}
	part->total = total;
}

/** False: a part met another's stacks, and nothing is to be used. */
static bool scan_in_parts(struct scan *s) {
	bool ok = true;
	parallel_run(s->n_parts, scan_part, s);
	for (unsigned i = 0; i < s->n_parts; i++) {
		lens_costs_add(&s->out->total, &s->parts[i].total);
		ok = ok && !s->parts[i].is_disordered;
	}
	return ok;
}

static void range_costs(const struct lens *l, const struct recording *r, struct lens_result *out) {
	struct scan s = {
			.lens = l,
			.out = out,
			.question = question_of(l, r),
			.wide = r->wide.items,
	};
	make_parts(&s, r);
	if (!scan_in_parts(&s)) {
		// A file may have its intervals in any order; ours are ordered by stack
		memset(out->stacks, 0, r->stacks.n * sizeof *out->stacks);
		out->total = (struct lens_costs){0};
		one_part(&s, r);
		(void)scan_in_parts(&s);
	}
}

/** Of intervals that hold some: their bytes have no column of their own. */
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
				!is_left_out(out, v.stack)) {
			unsigned __int128 share = (unsigned __int128)v.bytes * v.temporary / v.count;
			out->stacks[v.stack].bytes += (uint64_t)share;
			out->total.bytes += (uint64_t)share;
		}
	}
}

static uint64_t moment_of(const struct lens *l, const struct recording *r) {
	if (!l->has_range) {
		return l->metric == LENS_PEAK ? r->summary.peak_time_ns : r->meta.duration_ns;
	}
	uint32_t edge = l->metric == LENS_PEAK ? largest_edge(l, r) : (uint32_t)l->to;
	return edge < r->edges.n ? r->edges.items[edge].time_ns : r->meta.duration_ns;
}

bool lens_apply(const struct lens *l, const struct recording *r, const struct names *n,
		struct arena *arena, struct lens_result *out, struct err *err) {
	struct arena scratch = {0};
	*out = (struct lens_result){.moment_ns = moment_of(l, r)};
	out->stacks = arena_new(arena, struct lens_costs, r->stacks.n);
	bool ok = (out->stacks || err_memory(err)) &&
			find_left_out(l, r, n, arena, &scratch, &out->is_left_out, err);
	if (ok && l->has_range) {
		range_costs(l, r, out);
		if (l->metric == LENS_TEMPORARY) {
			temporary_costs(l, r, out);
		}
	} else if (ok) {
		whole_costs(l, r, out);
	}
	arena_finish(&scratch);
	return ok;
}
