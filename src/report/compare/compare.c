// SPDX-License-Identifier: MIT
#include "report/compare.h"

#include "base/human.h"
#include "engine/shorten.h"
#include "report/compare/parts.h"
#include "report/text/columns.h"

#include <inttypes.h>
#include <stdio.h>

static bool ask(const struct diff_input *in, enum lens_metric metric, struct arena *arena,
		struct lens_costs *out, struct err *err) {
	struct lens lens = *in->lens;
	struct lens_result result;
	lens.metric = metric;
	bool ok = lens_apply(&lens, in->recording, in->names, arena, &result, err);
	if (ok) {
		*out = result.total;
	}
	return ok;
}

bool totals_of(const struct compare_request *request, struct arena *arena,
		struct total out[N_TOTALS], struct err *err) {
	static const struct total rows[N_TOTALS] = {
			{.what = "peak", .key = "peak_bytes", .is_bytes = true},
			{.what = "never freed", .key = "never_freed_bytes", .is_bytes = true},
			{.what = "  blocks", .key = "never_freed_blocks"},
			{.what = "allocations", .key = "allocations"},
			{.what = "  bytes", .key = "allocated_bytes", .is_bytes = true},
			{.what = "temporary", .key = "temporary"},
			{.what = "peak RSS", .key = "peak_rss_bytes", .is_bytes = true},
	};
	static const uint32_t numbers[N_TOTALS] = {REC_PEAK_BYTES, REC_LIVE_BYTES, REC_LIVE_BLOCKS,
			REC_ALLOCATIONS, REC_ALLOCATED_BYTES, REC_TEMPORARY, 0};
	memcpy(out, rows, sizeof rows);
	for (int side = 0; side < (request->has_base ? 2 : 1); side++) {
		const struct diff_input *in = &request->input[side];
		struct lens_costs peak, live;
		if (!ask(in, LENS_PEAK, arena, &peak, err) ||
				!ask(in, LENS_NEVER_FREED, arena, &live, err)) {
			return false;
		}
		const uint64_t values[N_TOTALS] = {peak.bytes, live.bytes, live.blocks, peak.allocations,
				peak.allocated_bytes, peak.temporary, in->recording->summary.peak_rss_bytes};
		for (int i = 0; i < N_TOTALS; i++) {
			out[i].value[side] = values[i];
			out[i].is_known[side] = !(in->recording->missing & numbers[i]);
		}
		out[N_TOTALS - 1].is_known[side] = values[N_TOTALS - 1] > 0;
	}
	return true;
}

bool changed_sites(const struct compare_request *request, enum lens_metric metric,
		struct arena *arena, struct diff_sites *out, uint32_t *n_changed, struct err *err) {
	*out = (struct diff_sites){0};
	*n_changed = 0;
	if (!request->has_base) {
		return true;
	}
	struct lens lens = *request->input[DIFF_OURS].lens;
	lens.metric = metric;
	if (!diff_sites_make(request->input, metric, arena, out, err)) {
		return false;
	}
	while (*n_changed < out->n && diff_delta(&lens, &out->items[*n_changed].costs) != 0) {
		(*n_changed)++;
	}
	return true;
}

void compare_put_change(struct buffer *out, int64_t delta, bool is_bytes) {
	char text[HUMAN_MAX];
	uint64_t size = delta < 0 ? -(uint64_t)delta : (uint64_t)delta;
	buffer_printf(out, "%s%s",
			delta > 0       ? "+"
					: delta ? "-"
							: "",
			is_bytes ? human_bytes(text, size) : human_count(text, size));
}

void compare_put_share(struct buffer *out, uint64_t ours, uint64_t base) {
	if (base == 0 || ours == 0) {
		buffer_text(out, ours ? "new" : base ? "gone" : "");
	} else if (ours != base) {
		buffer_printf(out, "%+.1f %%", ((double)ours - (double)base) / (double)base * 100);
	}
}

void compare_put_site(struct buffer *out, const struct diff_site *site, struct arena *arena) {
	const struct name *name = site->name;
	char *text = name ? function_short(name->function, arena) : arena_text(arena, site->label);
	buffer_text(out, text ? text : "?");
	if (name && name->file.size && name->line) {
		struct slice file = path_base(name->file);
		buffer_printf(out, " %.*s:%" PRIu32, SLICE_ARG(file), name->line);
	}
}

void compare_trim(struct buffer *out) {
	while (out->size && out->data[out->size - 1] == ' ') {
		out->size--;
	}
}

// ---- text

static void put_total(struct buffer *out, const struct compare_request *request,
		const struct total *t) {
	char text[HUMAN_MAX];
	buffer_printf(out, "  %-12s", t->what);
	for (int side = request->has_base; side >= 0; side--) {
		put_right(out,
				!t->is_known[side]    ? "not said"
						: t->is_bytes ? human_bytes(text, t->value[side])
									  : human_count(text, t->value[side]),
				14);
	}
	if (request->has_base && t->is_known[0] && t->is_known[1] && t->value[0] != t->value[1]) {
		struct buffer change = {0};
		compare_put_change(&change, (int64_t)(t->value[0] - t->value[1]), t->is_bytes);
		buffer_u8(&change, 0);
		put_right(out, change.failed ? "" : (const char *)change.data, 14);
		buffer_finish(&change);
		buffer_text(out, "  ");
		compare_put_share(out, t->value[0], t->value[1]);
	}
	buffer_u8(out, '\n');
}

/** Programs that ran for different times are told apart by their rates. */
static void put_rate(struct buffer *out, const struct compare_request *request,
		const struct total *allocations) {
	char text[HUMAN_MAX];
	buffer_printf(out, "  %-12s", "  a second");
	for (int side = request->has_base; side >= 0; side--) {
		const struct recording *r = request->input[side].recording;
		double seconds = (double)r->meta.duration_ns / 1e9;
		bool is_known = seconds > 0 && allocations->is_known[side];
		double rate = is_known ? (double)allocations->value[side] / seconds : 0;
		put_right(out, is_known ? human_count(text, (uint64_t)rate) : "not said", 14);
	}
	buffer_u8(out, '\n');
}

static void put_durations(struct buffer *out, const struct compare_request *request) {
	char text[HUMAN_MAX];
	buffer_printf(out, "  %-12s", "ran for");
	for (int side = request->has_base; side >= 0; side--) {
		put_right(out, human_duration(text, request->input[side].recording->meta.duration_ns), 14);
	}
	buffer_text(out, "\n\n");
}

static void put_site_row(struct buffer *out, const struct compare_request *request,
		const struct diff_site *site, const struct lens *lens, struct arena *arena) {
	bool is_bytes = !lens_metrics[lens->metric].is_counted;
	struct buffer change = {0}, place = {0};
	uint64_t ours = lens_weight(lens, &site->costs.side[DIFF_OURS]);
	uint64_t base = lens_weight(lens, &site->costs.side[DIFF_BASE]);
	compare_put_change(&change, (int64_t)(ours - base), is_bytes);
	buffer_u8(&change, 0);
	put_right(out, change.failed ? "" : (const char *)change.data, 12);
	buffer_finish(&change);
	compare_put_share(&place, ours, base);
	buffer_text(out, "  ");
	put_cut_padded(out, buffer_view(&place), 10);
	buffer_clear(&place);
	compare_put_site(&place, site, arena);
	put_left(out, buffer_view(&place), request->width > 30 ? request->width - 26 : 4);
	buffer_finish(&place);
	compare_trim(out);
	buffer_u8(out, '\n');
}

static bool put_sites(struct buffer *out, const struct compare_request *request,
		enum lens_metric metric, struct arena *arena, struct err *err) {
	struct diff_sites sites;
	uint32_t n;
	struct lens lens = *request->input[DIFF_OURS].lens;
	lens.metric = metric;
	uint32_t missing = request->input[DIFF_OURS].recording->missing |
			request->input[DIFF_BASE].recording->missing;
	if (missing & metric_missing(metric)) {
		return true;
	}
	if (!changed_sites(request, metric, arena, &sites, &n, err)) {
		return false;
	}
	buffer_printf(out, "%s, changed sites: %" PRIu32 " of %" PRIu32 "\n",
			lens_metrics[metric].compared, n, sites.n);
	for (uint32_t i = 0; i < n && i < request->limit; i++) {
		put_site_row(out, request, &sites.items[i], &lens, arena);
	}
	if (n > request->limit) {
		buffer_printf(out, "  … %" PRIu32 " more\n", n - request->limit);
	}
	buffer_u8(out, '\n');
	return true;
}

void compare_put_gates(struct buffer *out, const struct compare_request *request) {
	for (uint32_t i = 0; i < request->n_gates; i++) {
		const struct gate_result *g = &request->gates[i];
		char first[128];
		(void)snprintf(first, sizeof first, "%s  %.100s: ", g->is_failed ? "FAIL" : "pass",
				g->gate->text);
		put_wrapped(out, first, 6, g->sentence, request->width);
	}
}

/** Mistaken files are a common reason for surprising differences. */
static void put_other_program(struct buffer *out, const struct compare_request *request) {
	struct slice programs[N_DIFF_SIDES] = {{0}};
	for (int side = 0; side <= request->has_base; side++) {
		const struct recording *r = request->input[side].recording;
		programs[side] = path_base(r->strings.items[r->meta.exe]);
	}
	const struct slice *ours = &programs[DIFF_OURS], *base = &programs[DIFF_BASE];
	if (ours->size && base->size && !slice_equal(*ours, *base)) {
		buffer_printf(out, "  ! the base is a recording of another program: %.*s, not %.*s\n",
				SLICE_ARG(*base), SLICE_ARG(*ours));
	}
}

void compare_put_head(struct buffer *out, const struct compare_request *request) {
	buffer_printf(out, "%s", request->file);
	if (request->n_runs > 1) {
		buffer_printf(out, " (of %" PRIu32 " runs)", request->n_runs);
	}
	if (request->has_base) {
		buffer_printf(out, " compared with %s", request->base_file);
		if (request->n_base_runs > 1) {
			buffer_printf(out, " (of %" PRIu32 " runs)", request->n_base_runs);
		}
	}
	buffer_text(out, "\n");
	put_other_program(out, request);
	buffer_u8(out, '\n');
}

/** "-1.20K": a difference in the classic form. */
static void put_classic(struct buffer *out, const char *what, const struct total *t) {
	char text[HUMAN_MAX];
	uint64_t ours = t->value[DIFF_OURS], base = t->value[DIFF_BASE];
	buffer_printf(out, "%s: %s%s\n", what, ours < base ? "-" : "",
			human_classic(text, ours < base ? base - ours : ours - base));
}

static void put_classic_calls(struct buffer *out, const char *what, const struct total *t,
		double seconds) {
	int64_t delta = (int64_t)(t->value[DIFF_OURS] - t->value[DIFF_BASE]);
	buffer_printf(out, "%s: %" PRId64 " (%" PRId64 "/s)\n", what, delta,
			seconds != 0 ? (int64_t)((double)delta / seconds) : 0);
}

/** The six lines that scripts look for: the differences, as ever. */
static void put_six_lines(struct buffer *out, const struct compare_request *request,
		const struct total totals[N_TOTALS]) {
	double seconds = ((double)request->input[DIFF_OURS].recording->meta.duration_ns -
							 (double)request->input[DIFF_BASE].recording->meta.duration_ns) /
			1e9;
	buffer_printf(out, "\ntotal runtime: %.2fs.\n", seconds);
	put_classic_calls(out, "calls to allocation functions", &totals[TOTAL_ALLOCATIONS], seconds);
	put_classic_calls(out, "temporary memory allocations", &totals[TOTAL_TEMPORARY], seconds);
	put_classic(out, "peak heap memory consumption", &totals[TOTAL_PEAK]);
	put_classic(out, "peak RSS (including heaptrack overhead)", &totals[TOTAL_PEAK_RSS]);
	put_classic(out, "total memory leaked", &totals[TOTAL_NEVER_FREED]);
}

bool report_compare(struct buffer *out, const struct compare_request *request, struct err *err) {
	struct arena arena = {0};
	struct total totals[N_TOTALS];
	bool ok = totals_of(request, &arena, totals, err);
	if (ok) {
		compare_put_head(out, request);
		buffer_printf(out, "  %-12s", "");
		if (request->has_base) {
			put_right(out, "base", 14);
		}
		put_right(out, "this", 14);
		buffer_u8(out, '\n');
		for (int i = 0; i < N_TOTALS; i++) {
			put_total(out, request, &totals[i]);
			if (i == TOTAL_ALLOCATED_BYTES) {
				put_rate(out, request, &totals[TOTAL_ALLOCATIONS]);
			}
		}
		put_durations(out, request);
	}
	for (enum lens_metric m = 0; ok && request->has_base && m < N_LENS_METRICS; m++) {
		ok = !lens_metrics[m].compared || put_sites(out, request, m, &arena, err);
	}
	compare_put_gates(out, request);
	if (ok && request->has_base) {
		put_six_lines(out, request, totals);
	}
	arena_finish(&arena);
	return ok && (!out->failed || err_memory(err));
}
