// SPDX-License-Identifier: MIT

/* Compares a recording with the replay: totals, the peak, and the heap over time. */

#include "replay/agrees.h"

static bool summary_agrees(const struct replay *r, const struct recording *rec, struct err *why) {
	const struct rec_summary *s = &rec->summary;
	return SAME(why, "allocations", r->sum.allocations, s->allocations) &&
			SAME(why, "allocated_bytes", r->sum.allocated_bytes, s->allocated_bytes) &&
			SAME(why, "frees", r->sum.frees, s->frees) &&
			SAME(why, "reallocs", r->sum.reallocs, s->reallocs) &&
			SAME(why, "temporary", r->sum.temporary, s->temporary) &&
			SAME(why, "short_lived", r->sum.short_lived, s->short_lived) &&
			SAME(why, "live_bytes", r->sum.live_bytes, s->live_bytes) &&
			SAME(why, "live_blocks", r->sum.live_blocks, s->live_blocks) &&
			SAME(why, "gone_at_exec", r->sum.gone_at_exec, s->gone_at_exec) &&
			SAME(why, "gone_at_exec_bytes", r->sum.gone_at_exec_bytes, s->gone_at_exec_bytes) &&
			SAME(why, "unknown_frees", r->quality.unknown_frees, rec->quality.unknown_frees) &&
			SAME(why, "double_allocations", r->quality.double_allocations,
					rec->quality.double_allocations) &&
			SAME(why, "time_corrections", r->quality.time_corrections,
					rec->quality.time_corrections);
}

static bool peak_agrees(const struct replay *r, const struct recording *rec, struct err *why) {
	struct replay_state peak = {0};
	for (size_t i = 0; i < r->states.n; i++) {
		if (r->states.items[i].bytes > peak.bytes) {
			peak = r->states.items[i];
		}
	}
	return SAME(why, "peak_bytes", peak.bytes, rec->summary.peak_bytes) &&
			SAME(why, "peak_blocks", peak.blocks, rec->summary.peak_blocks) &&
			SAME(why, "peak_time_ns", peak.moment, rec->summary.peak_time_ns);
}

/** One edge against all states of its period; *at: the first state of it, then of the next. */
static bool edge_agrees(const struct replay *r, const struct rec_edge *edge, uint64_t start,
		struct replay_state *carried, size_t *at, struct err *why) {
	struct replay_state highest = *carried;
	highest.moment = start;
	uint64_t min_bytes = carried->bytes;
	for (; *at < r->states.n && r->states.items[*at].moment <= edge->end_ns; (*at)++) {
		const struct replay_state *s = &r->states.items[*at];
		if (s->bytes > highest.bytes) {
			highest = *s;
		}
		min_bytes = s->bytes < min_bytes ? s->bytes : min_bytes;
		*carried = *s;
	}
	return SAME(why, "time_ns", highest.moment, edge->time_ns) &&
			SAME(why, "bytes", highest.bytes, edge->bytes) &&
			SAME(why, "blocks", highest.blocks, edge->blocks) &&
			SAME(why, "min_bytes", min_bytes, edge->min_bytes) &&
			SAME(why, "allocations", highest.allocations, edge->allocations) &&
			SAME(why, "allocated_bytes", highest.allocated_bytes, edge->allocated_bytes) &&
			SAME(why, "temporary", highest.temporary, edge->temporary);
}

static bool periods_agree(const struct replay *r, const struct rec_edge *edges, uint32_t n,
		const char *what, struct err *why) {
	struct replay_state carried = {0};
	uint64_t start = 0;
	size_t at = 0;
	for (uint32_t k = 0; k < n; k++) {
		const struct rec_edge *edge = &edges[k];
		if (edge->end_ns <= start || edge->time_ns < start || edge->time_ns > edge->end_ns) {
			return err_set(why, ERR_FORMAT, "%s %" PRIu32 " is out of order", what, k);
		}
		if (!edge_agrees(r, edge, start, &carried, &at, why)) {
			return err_add(why, "%s %" PRIu32, what, k);
		}
		start = edge->end_ns;
	}
	return SAME(why, "number of events before the last period's end", r->states.n, at);
}

static bool edges_agree(const struct replay *r, const struct recording *rec, struct err *why) {
	return periods_agree(r, rec->edges.items, rec->edges.n, "edge", why) &&
			(rec->curve.n == 0 ||
					periods_agree(r, rec->curve.items, rec->curve.n, "point of the curve", why));
}

bool replay_agrees(const struct replay *r, const struct recording *rec, struct err *why) {
	return summary_agrees(r, rec, why) && peak_agrees(r, rec, why) && edges_agree(r, rec, why) &&
			agrees_by_thread(r, rec, why) && agrees_by_stack(r, rec, why);
}
