// SPDX-License-Identifier: MIT
#include "base/human.h"
#include "report/compare.h"
#include "report/compare/parts.h"

#include <inttypes.h>

// GitHub-flavoured markdown, for a comment on a pull request or a job's summary. Names stand in code
// spans; what would end a table's cell is escaped.

static void put_code(struct buffer *out, struct slice text) {
	buffer_u8(out, '`');
	for (size_t i = 0; i < text.size; i++) {
		uint8_t c = text.data[i];
		if (c == '|') {
			buffer_text(out, "\\|");
		} else {
			buffer_u8(out, c == '`' || c < ' ' ? '\'' : c);
		}
	}
	buffer_u8(out, '`');
}

static void put_plain(struct buffer *out, const char *text) {
	for (; *text; text++) {
		if (strchr("|<>*_`[]", *text)) {
			buffer_u8(out, '\\');
		}
		buffer_u8(out, (uint8_t)*text);
	}
}

static void put_gates(struct buffer *out, const struct compare_request *request) {
	if (request->n_gates == 0) {
		return;
	}
	buffer_text(out, "| Gate | | |\n|---|---|---|\n");
	for (uint32_t i = 0; i < request->n_gates; i++) {
		const struct gate_result *g = &request->gates[i];
		buffer_text(out, "| ");
		put_code(out, slice_of_text(g->gate->text));
		buffer_printf(out, " | %s | ", g->is_failed ? "❌ **failed**" : "✅ passed");
		put_plain(out, g->sentence);
		buffer_text(out, " |\n");
	}
	buffer_u8(out, '\n');
}

static void put_number(struct buffer *out, const struct total *t, int side) {
	char text[HUMAN_MAX];
	buffer_printf(out, " %s |",
			!t->is_known[side]    ? "not said"
					: t->is_bytes ? human_bytes(text, t->value[side])
								  : human_count(text, t->value[side]));
}

static void put_totals(struct buffer *out, const struct compare_request *request,
		const struct total totals[N_TOTALS]) {
	buffer_text(out,
			request->has_base ? "| | Base | This | Change |\n|---|--:|--:|--:|\n"
							  : "| | |\n|---|--:|\n");
	for (int i = 0; i < N_TOTALS; i++) {
		const struct total *t = &totals[i];
		size_t indent = strspn(t->what, " "); // a part of the row above
		buffer_printf(out, "| %s%s |", indent ? "&emsp;" : "", t->what + indent);
		if (request->has_base) {
			put_number(out, t, DIFF_BASE);
		}
		put_number(out, t, DIFF_OURS);
		if (request->has_base) {
			buffer_u8(out, ' ');
			if (t->is_known[0] && t->is_known[1] && t->value[0] != t->value[1]) {
				compare_put_change(out, (int64_t)(t->value[0] - t->value[1]), t->is_bytes);
				buffer_text(out, " ");
				compare_put_share(out, t->value[0], t->value[1]);
			}
			buffer_text(out, " |");
		}
		buffer_u8(out, '\n');
	}
	buffer_u8(out, '\n');
}

static bool put_sites(struct buffer *out, const struct compare_request *request,
		enum lens_metric metric, struct arena *arena, struct err *err) {
	struct diff_sites sites;
	uint32_t n;
	struct lens lens = *request->input[DIFF_OURS].lens;
	lens.metric = metric;
	bool is_bytes = !lens_metrics[metric].is_counted;
	if (!changed_sites(request, metric, arena, &sites, &n, err)) {
		return false;
	}
	if (n == 0) {
		return true;
	}
	buffer_printf(out, "<details><summary>%s: %" PRIu32 " changed site%s</summary>\n\n",
			lens_metrics[metric].compared, n, n == 1 ? "" : "s");
	buffer_text(out, "| Site | Change | |\n|---|--:|---|\n");
	for (uint32_t i = 0; i < n && i < request->limit; i++) {
		const struct diff_costs *c = &sites.items[i].costs;
		struct buffer place = {0};
		compare_put_site(&place, &sites.items[i], arena);
		buffer_text(out, "| ");
		put_code(out, buffer_view(&place));
		buffer_finish(&place);
		buffer_text(out, " | ");
		compare_put_change(out, diff_delta(&lens, c), is_bytes);
		buffer_text(out, " | ");
		compare_put_share(out, lens_weight(&lens, &c->side[0]), lens_weight(&lens, &c->side[1]));
		buffer_text(out, " |\n");
	}
	buffer_text(out, "\n</details>\n\n");
	return true;
}

bool report_compare_markdown(struct buffer *out, const struct compare_request *request,
		struct err *err) {
	struct arena arena = {0};
	struct total totals[N_TOTALS];
	bool ok = totals_of(request, &arena, totals, err);
	if (ok) {
		buffer_text(out, "### Heap: ");
		put_code(out, path_base(slice_of_text(request->file)));
		if (request->has_base) {
			buffer_text(out, " against ");
			put_code(out, path_base(slice_of_text(request->base_file)));
		}
		buffer_text(out, "\n\n");
		put_gates(out, request);
		put_totals(out, request, totals);
	}
	for (enum lens_metric m = 0; ok && request->has_base && m < N_LENS_METRICS; m++) {
		ok = !lens_metrics[m].compared || put_sites(out, request, m, &arena, err);
	}
	arena_finish(&arena);
	return ok && (!out->failed || err_memory(err));
}
