// SPDX-License-Identifier: MIT
/*
 * Sums up what the intervals of a range contribute to each stack, in one scan.
 *
 * One scan over the intervals. Every metric over a range asks the same of an interval: does it
 * begin in one span of edges, and does it end behind a third? So the loop knows no metric:
 *
 *                      begins in       ends behind
 *   peak               0 .. k          k              k: the largest edge of the range
 *   kept               from+1 .. to    to
 *   never freed        from+1 .. to    the last       (until is REC_NEVER)
 *   the others         from+1 .. to    (whenever)
 *
 * Both are asked of tables with a mask per edge, so that no branch depends on an interval. Its
 * numbers are added up four at once, as four lanes of 32 bits:
 *
 *   row      | count 16 | temporary 16 | bytes 32            |
 *   lanes    | count    | temporary    | lower 16 | upper 16 |
 *
 * 65,536 rows are the most that these hold.
 */
#include "base/parallel.h"
#include "engine/lens/parts.h"

enum { COUNT, TEMPORARY, LOWER, UPPER, ROWS_MOST = 1 << 16 };

typedef uint32_t lanes ATTR_LANES(16);
typedef uint16_t narrow_lanes ATTR_LANES(8);

_Static_assert(offsetof(struct rec_interval_row, temporary) ==
						offsetof(struct rec_interval_row, count) + 2 &&
				offsetof(struct rec_interval_row, bytes) ==
						offsetof(struct rec_interval_row, count) + 4,
		"as drawn above");

uint32_t lens_largest_edge(const struct lens *l, const struct recording *r) {
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
	switch (lens_metrics[l->metric].rule) {
	case METRIC_LIVE_AT_LARGEST: {
		uint32_t edge = lens_largest_edge(l, r);
		q = (struct question){.first = 0, .span = edge, .behind = (int32_t)edge};
		break;
	}
	case METRIC_NEVER_FREED: q.behind = REC_NEVER - 1; break;
	case METRIC_KEPT: q.behind = l->to; break;
	case METRIC_MADE:
	case METRIC_MADE_TEMPORARY:
	case N_METRIC_RULES: break;
	}
	return q;
}

/** All ones or nothing per edge: of intervals that begin there, or end there. */
struct masks {
	uint32_t *made;   // begins within the range
	uint32_t *begins; // where the question asks for it
	uint32_t *ends;   // and so it ends; up to REC_NEVER
};

static bool make_masks(struct masks *out, const struct lens *l, const struct recording *r,
		struct arena *scratch) {
	const struct question q = question_of(l, r);
	const uint32_t n = r->edges.n + 1;
	out->made = arena_new(scratch, uint32_t, n);
	out->begins = arena_new(scratch, uint32_t, n);
	out->ends = arena_new(scratch, uint32_t, REC_NEVER + 1ul);
	if (!out->made || !out->begins || !out->ends) {
		return false;
	}
	for (uint32_t i = 0; i < n; i++) {
		bool is_made = (int32_t)i > l->from && (int32_t)i <= l->to;
		out->made[i] = is_made ? UINT32_MAX : 0;
		out->begins[i] = i >= q.first && i - q.first <= q.span ? UINT32_MAX : 0;
		out->ends[i] = (int32_t)i > q.behind ? UINT32_MAX : 0;
	}
	out->ends[REC_NEVER] = UINT32_MAX;
	return true;
}

/**
 * A scan in parts. The stacks of one are smaller than those of the next: no two add to the same
 * one.
 */
struct scan {
	struct lens_result *out;
	struct masks masks;
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
	s->parts[0] = (struct scan_part){.begin = v,
			.end = v ? v + r->intervals.n : v,
			.behind = UINT64_MAX};
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

static void add_wide(struct lens_costs *sum, const struct rec_wide *w, uint32_t is_made,
		uint32_t is_asked) {
	sum->bytes += is_asked ? w->bytes : 0;
	sum->blocks += is_asked ? w->count : 0;
	sum->allocations += is_made ? w->count : 0;
	sum->allocated_bytes += is_made ? w->bytes : 0;
	sum->temporary += is_made ? w->temporary : 0;
}

static inline uint64_t bytes_of(lanes v) {
	return v[LOWER] + ((uint64_t)v[UPPER] << 16);
}

/** Those of a stack stand together: they are summed up in registers. Gives the end of them. */
static inline const struct rec_interval_row *add_up_stack(const struct scan *s,
		const struct rec_interval_row *row, const struct rec_interval_row *end,
		struct lens_costs *sum) {
	const struct masks masks = s->masks;
	const uint32_t stack = row->stack;
	lanes made = {0}, asked = {0};
	end = end - row > ROWS_MOST ? row + ROWS_MOST : end;
	*sum = (struct lens_costs){0};
	do {
		uint32_t is_made = masks.made[row->from];
		uint32_t is_asked = masks.begins[row->from] & masks.ends[row->until];
		if (LIKELY(row->count != REC_WIDE)) {
			narrow_lanes narrow;
			memcpy(&narrow, &row->count, sizeof narrow);
			lanes v = __builtin_convertvector(narrow, lanes);
			made += v & is_made;
			asked += v & is_asked;
		} else {
			add_wide(sum, &s->wide[row->bytes], is_made, is_asked);
		}
		row++;
	} while (row < end && row->stack == stack);
	sum->bytes += bytes_of(asked);
	sum->blocks += asked[COUNT];
	sum->allocations += made[COUNT];
	sum->allocated_bytes += bytes_of(made);
	sum->temporary += made[TEMPORARY];
	return row;
}

static void scan_part(void *user, unsigned number) {
	struct scan *s = user;
	struct scan_part *part = &s->parts[number];
	struct lens_costs total = {0}; // its own until the end: the parts lie in one cache line
	for (const struct rec_interval_row *row = part->begin; row < part->end;) {
		const uint32_t stack = row->stack;
		if (UNLIKELY(stack < part->least || stack >= part->behind)) {
			part->is_disordered = true;
			return;
		}
		struct lens_costs c;
		row = add_up_stack(s, row, part->end, &c);
		if (!lens_leaves_out(s->out, stack)) {
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

bool lens_scan(const struct lens *l, const struct recording *r, struct arena *scratch,
		struct lens_result *out, struct err *err) {
	struct scan s = {.out = out, .wide = r->wide.items};
	if (!make_masks(&s.masks, l, r, scratch)) {
		return err_memory(err);
	}
	make_parts(&s, r);
	if (!scan_in_parts(&s)) {
		// A file may have its intervals in any order; ours are ordered by stack
		memset(out->stacks, 0, r->stacks.n * sizeof *out->stacks);
		out->total = (struct lens_costs){0};
		one_part(&s, r);
		(void)scan_in_parts(&s);
	}
	return true;
}
