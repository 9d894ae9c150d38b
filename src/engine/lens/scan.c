// SPDX-License-Identifier: MIT
/*
 * Sums up what the intervals of a range contribute to each stack, in one scan.
 *
 * Every metric over a range asks the same of an interval: does it begin in one span of edges, and
 * does it end behind a third? So the loop knows no metric:
 *
 *                      begins in       ends behind
 *   peak               0 .. k          k              k: the largest edge of the range
 *   kept               from+1 .. to    to
 *   never freed        from+1 .. to    the last       (until is REC_NEVER)
 *   the others         from+1 .. to    (whenever)
 */
#include "engine/lens/parts.h"

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

/** Blocks that begin within `first` .. `first + span` and end after `behind`. */
struct question {
	uint32_t first, span;
	int32_t behind;
};

static struct question made_in(const struct lens *l) {
	return (struct question){
			.first = (uint32_t)(l->from + 1),
			.span = (uint32_t)(l->to - l->from - 1),
			.behind = -1,
	};
}

static struct question question_of(const struct lens *l, const struct recording *r) {
	struct question q = made_in(l);
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

static bool begins_in(const struct question *q, const struct rec_interval *v) {
	return v->from - q->first <= q->span;
}

static uint64_t all_if(bool is_so) {
	return -(uint64_t)is_so;
}

/** A stack's intervals are mostly adjacent: they are summed up without a branch. */
static uint32_t add_up_stack(const struct question *q, const struct question *made,
		const struct recording *r, uint32_t i, struct lens_costs *sum) {
	const uint32_t stack = r->intervals.items[i].stack;
	do {
		const struct rec_interval v = recording_interval(r, i++);
		const uint64_t is_made = all_if(begins_in(made, &v));
		const uint64_t is_asked = all_if(begins_in(q, &v) & (v.until > q->behind));
		sum->bytes += v.bytes & is_asked;
		sum->blocks += v.count & is_asked;
		sum->allocations += v.count & is_made;
		sum->allocated_bytes += v.bytes & is_made;
		sum->temporary += v.temporary & is_made;
	} while (i < r->intervals.n && r->intervals.items[i].stack == stack);
	return i;
}

void lens_scan(const struct lens *l, const struct recording *r, struct lens_result *out) {
	const struct question q = question_of(l, r), made = made_in(l);
	for (uint32_t i = 0; i < r->intervals.n;) {
		const uint32_t stack = r->intervals.items[i].stack;
		struct lens_costs sum = {0};
		i = add_up_stack(&q, &made, r, i, &sum);
		if (!lens_leaves_out(out, stack)) {
			lens_costs_add(&out->stacks[stack], &sum);
			lens_costs_add(&out->total, &sum);
		}
	}
}
