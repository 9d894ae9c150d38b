// SPDX-License-Identifier: MIT
/* A comparison as text: totals, the sites that changed, the gates' verdicts, six lines. */
#include "report/compare/parts.h"

enum { COLUMN = 14 };

static void put_total(struct buffer *out, const struct compare_request *request,
		const struct total *t) {
	char text[CHANGE_MAX];
	buffer_printf(out, "  %-12s", t->what);
	for (int side = request->has_base; side >= 0; side--) {
		put_right(out, total_text(text, t, side), COLUMN);
	}
	if (request->has_base && total_has_changed(t)) {
		put_right(out, change_text(text, t->value, t->is_bytes), COLUMN);
		buffer_text(out, "  ");
		compare_put_share(out, t->value);
	}
	buffer_u8(out, '\n');
}

/** Rates, to compare programs that ran for different times. */
static void put_rate(struct buffer *out, const struct compare_request *request,
		const struct total *allocations) {
	uint64_t shortest = request->input[DIFF_OURS].recording->meta.duration_ns;
	if (request->has_base) {
		LOWER_TO(shortest, request->input[DIFF_BASE].recording->meta.duration_ns);
	}
	if (shortest < 1000000000) { // too short to extrapolate
		return;
	}
	buffer_printf(out, "  %-12s", "  a second");
	for (int side = request->has_base; side >= 0; side--) {
		const struct recording *r = request->input[side].recording;
		double seconds = (double)r->meta.duration_ns / 1e9;
		bool is_known = seconds > 0 && allocations->is_known[side];
		double rate = is_known ? (double)allocations->value[side] / seconds : 0;
		put_right(out, is_known ? HUMAN_COUNT((uint64_t)rate) : "unknown", COLUMN);
	}
	buffer_u8(out, '\n');
}

static void put_durations(struct buffer *out, const struct compare_request *request) {
	buffer_printf(out, "  %-12s", "ran for");
	for (int side = request->has_base; side >= 0; side--) {
		put_right(out, HUMAN_DURATION(request->input[side].recording->meta.duration_ns), COLUMN);
	}
	buffer_text(out, "\n\n");
}

static void put_sites(void *to, const struct compare_request *request, enum lens_metric metric,
		const struct diff_sites *sites, struct arena *arena) {
	struct buffer *out = to;
	const struct metric *m = &lens_metrics[metric];
	uint32_t missing = request->input[DIFF_OURS].recording->missing |
			request->input[DIFF_BASE].recording->missing;
	if (missing & (m->is_counted ? m->blocks.number : m->bytes.number)) {
		return;
	}
	buffer_printf(out, "%s, changed sites: %" PRIu32 " of %" PRIu32 "\n", m->compared,
			sites->n_changed, sites->n);
	EACH_OF_WHILE(site, sites->items, sites->n_changed, site - sites->items < request->limit) {
		SCOPED(buffer) place = {0};
		compare_put_change(out, site->weight, !m->is_counted);
		put_site(&place, site->name, site->label, arena);
		put_left(out, buffer_view(&place), request->width > 30 ? request->width - 26 : 4);
		trim_spaces(out);
		buffer_u8(out, '\n');
	}
	if (sites->n_changed > request->limit) {
		buffer_printf(out, "  … %" PRIu32 " more\n", sites->n_changed - request->limit);
	}
	buffer_u8(out, '\n');
}

/** "-1.20K": a difference in the classic form. */
static void put_classic(struct buffer *out, const char *what, const struct total *t) {
	uint64_t ours = t->value[DIFF_OURS], base = t->value[DIFF_BASE];
	buffer_printf(out, "%s: %s%s\n", what, ours < base ? "-" : "",
			HUMAN_CLASSIC(ours < base ? base - ours : ours - base));
}

/** "per second" is the difference of the rates: that of the durations is not a time that passed. */
static void put_classic_calls(struct buffer *out, const struct compare_request *request,
		const char *what, const struct total *t) {
	double rate[N_DIFF_SIDES];
	for (int side = 0; side < N_DIFF_SIDES; side++) {
		uint64_t ns = request->input[side].recording->meta.duration_ns;
		rate[side] = ns ? (double)t->value[side] * 1e9 / (double)ns : 0;
	}
	buffer_printf(out, "%s: %" PRId64 " (%" PRId64 "/s)\n", what,
			(int64_t)(t->value[DIFF_OURS] - t->value[DIFF_BASE]),
			(int64_t)(rate[DIFF_OURS] - rate[DIFF_BASE]));
}

/** The six lines that scripts look for, with the differences. */
static void put_six_lines(struct buffer *out, const struct compare_request *request,
		const struct total totals[N_TOTALS]) {
	buffer_printf(out, "\ntotal runtime: %.2fs.\n",
			((double)request->input[DIFF_OURS].recording->meta.duration_ns -
					(double)request->input[DIFF_BASE].recording->meta.duration_ns) /
					1e9);
	put_classic_calls(out, request, "calls to allocation functions", &totals[TOTAL_ALLOCATIONS]);
	put_classic_calls(out, request, "temporary memory allocations", &totals[TOTAL_TEMPORARY]);
	put_classic(out, "peak heap memory consumption", &totals[TOTAL_PEAK]);
	put_classic(out, "peak RSS (including heaptrack overhead)", &totals[TOTAL_PEAK_RSS]);
	put_classic(out, "total memory leaked", &totals[TOTAL_NEVER_FREED]);
}

void report_compare(struct buffer *out, const struct compare_request *request) {
	SCOPED(arena) arena = {0};
	struct total totals[N_TOTALS];
	totals_of(request, &arena, totals);
	compare_put_head(out, request);
	buffer_printf(out, "  %-12s", "");
	if (request->has_base) {
		put_right(out, "base", COLUMN);
	}
	put_right(out, "this", COLUMN);
	buffer_u8(out, '\n');
	for (int i = 0; i < N_TOTALS; i++) {
		put_total(out, request, &totals[i]);
		if (i == TOTAL_ALLOCATED_BYTES) {
			put_rate(out, request, &totals[TOTAL_ALLOCATIONS]);
		}
	}
	put_durations(out, request);
	each_compared_metric(request, put_sites, out, &arena);
	compare_put_gates(out, request);
	if (request->has_base) {
		put_six_lines(out, request, totals);
	}
}
