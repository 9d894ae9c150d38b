// SPDX-License-Identifier: MIT
/* What the forms of a comparison share: totals, changed sites, and how both are put. */
#include "report/compare/parts.h"

void totals_of(const struct compare_request *request, struct arena *arena,
		struct total out[N_TOTALS]) {
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
		struct lens lens;
		struct lens_result peak, live;
		diff_apply(in, LENS_PEAK, arena, &lens, &peak);
		diff_apply(in, LENS_NEVER_FREED, arena, &lens, &live);
		const struct lens_costs *c = &peak.total;
		const uint64_t values[N_TOTALS] = {c->bytes, live.total.bytes, live.total.blocks,
				c->allocations, c->allocated_bytes, c->temporary,
				in->recording->summary.peak_rss_bytes};
		for (int i = 0; i < N_TOTALS; i++) {
			out[i].value[side] = values[i];
			out[i].is_known[side] = !(in->recording->missing & numbers[i]);
		}
		out[N_TOTALS - 1].is_known[side] = values[N_TOTALS - 1] > 0;
	}
}

void each_compared_metric(const struct compare_request *request, put_changes *put, void *to,
		struct arena *arena) {
	EACH_NUMBER(m, N_LENS_METRICS, request->has_base && lens_metrics[m].compared) {
		struct diff_sites sites;
		diff_sites_make(BY_SITE, request->input, (enum lens_metric)m, arena, &sites);
		put(to, request, (enum lens_metric)m, &sites, arena);
	}
}

const char *total_text(char text[HUMAN_MAX], const struct total *t, int side) {
	return !t->is_known[side] ? "unknown"
			: t->is_bytes     ? human_bytes(text, t->value[side])
							  : human_count(text, t->value[side]);
}

bool total_has_changed(const struct total *t) {
	return t->is_known[DIFF_OURS] && t->is_known[DIFF_BASE] &&
			t->value[DIFF_OURS] != t->value[DIFF_BASE];
}

const char *change_text(char text[CHANGE_MAX], const uint64_t n[N_DIFF_SIDES], bool is_bytes) {
	uint64_t ours = n[DIFF_OURS], base = n[DIFF_BASE], by = ours < base ? base - ours : ours - base;
	(void)snprintf(text, CHANGE_MAX, "%s%s",
			ours > base           ? "+"
					: ours < base ? "-"
								  : "",
			is_bytes ? HUMAN_BYTES(by) : HUMAN_COUNT(by));
	return text;
}

void compare_put_share(struct buffer *out, const uint64_t n[N_DIFF_SIDES]) {
	uint64_t ours = n[DIFF_OURS], base = n[DIFF_BASE];
	if (base == 0 || ours == 0) {
		buffer_text(out, ours ? "new" : base ? "gone" : "");
	} else if (ours != base) {
		double percent = ((double)ours - (double)base) / (double)base * 100;
		bool is_tiny = percent > -0.1 && percent < 0.1;
		buffer_printf(out,
				is_tiny                  ? "< 0.1 %%"
						: percent > 1000 ? "> 1000 %%"
										 : "%+.1f %%",
				percent);
	}
}

void compare_put_change(struct buffer *out, const uint64_t n[N_DIFF_SIDES], bool is_bytes) {
	SCOPED(buffer) share = {0};
	char text[CHANGE_MAX];
	put_right(out, change_text(text, n, is_bytes), 12);
	buffer_text(out, "  ");
	compare_put_share(&share, n);
	put_cut_padded(out, buffer_view(&share), 10);
}

void compare_put_gates(struct buffer *out, const struct compare_request *request) {
	EACH_OF(g, request->gates, request->n_gates) {
		visible_wrap(out,
				FORMAT(128, "%s  %.100s: ", g->is_failed ? "FAIL" : "pass", g->gate->text), 6,
				g->sentence, request->width);
	}
}

void compare_put_gates_json(struct json *j, const struct compare_request *request) {
	JSON_LIST(j, "gates");
	EACH_OF(g, request->gates, request->n_gates) {
		JSON_OBJECT(j, NULL);
		json_text(j, "gate", g->gate->text);
		json_bool(j, "failed", g->is_failed);
		json_text(j, "text", g->sentence);
	}
}

/** Files mixed up are a common reason for surprising differences. */
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
	const char *const files[N_DIFF_SIDES] = {request->file, request->base_file};
	const uint32_t n_runs[N_DIFF_SIDES] = {request->n_runs, request->n_base_runs};
	for (int side = 0; side <= request->has_base; side++) {
		buffer_printf(out, "%s%s", side == DIFF_BASE ? " compared with " : "", files[side]);
		if (n_runs[side] > 1) {
			buffer_printf(out, " (of %" PRIu32 " runs)", n_runs[side]);
		}
	}
	buffer_text(out, "\n");
	put_other_program(out, request);
	buffer_u8(out, '\n');
}
