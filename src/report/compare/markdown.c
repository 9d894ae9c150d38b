// SPDX-License-Identifier: MIT
/* A comparison as GitHub's markdown: names are in code spans, what would end a cell is escaped. */
#include "report/compare/parts.h"

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
	EACH_OF(g, request->gates, request->n_gates) {
		buffer_text(out, "| ");
		put_code(out, slice_of_text(g->gate->text));
		buffer_printf(out, " | %s | ", g->is_failed ? "❌ **failed**" : "✅ passed");
		put_plain(out, g->sentence);
		buffer_text(out, " |\n");
	}
	buffer_u8(out, '\n');
}

static void put_totals(struct buffer *out, const struct compare_request *request,
		const struct total totals[N_TOTALS]) {
	buffer_text(out,
			request->has_base ? "| | Base | This | Change |\n|---|--:|--:|--:|\n"
							  : "| | |\n|---|--:|\n");
	EACH_OF(t, totals, N_TOTALS) {
		size_t indent = strspn(t->what, " "); // a part of the row above
		buffer_printf(out, "| %s%s |", indent ? "&emsp;" : "", t->what + indent);
		char text[CHANGE_MAX];
		for (int side = request->has_base; side >= 0; side--) {
			buffer_printf(out, " %s |", total_text(text, t, side));
		}
		if (request->has_base) {
			buffer_u8(out, ' ');
			if (total_has_changed(t)) {
				buffer_text(out, change_text(text, t->value, t->is_bytes));
				buffer_text(out, " ");
				compare_put_share(out, t->value);
			}
			buffer_text(out, " |");
		}
		buffer_u8(out, '\n');
	}
	buffer_u8(out, '\n');
}

static void put_sites(void *to, const struct compare_request *request, enum lens_metric metric,
		const struct diff_sites *sites, struct arena *arena) {
	struct buffer *out = to;
	uint32_t n = sites->n_changed;
	if (n == 0) {
		return;
	}
	buffer_printf(out, "<details><summary>%s: %" PRIu32 " changed site%s</summary>\n\n",
			lens_metrics[metric].compared, n, n == 1 ? "" : "s");
	buffer_text(out, "| Site | Change | |\n|---|--:|---|\n");
	EACH_OF_WHILE(site, sites->items, n, site - sites->items < request->limit) {
		bool is_bytes = !lens_metrics[metric].is_counted;
		char text[CHANGE_MAX];
		SCOPED(buffer) place = {0};
		put_site(&place, site->name, site->label, arena);
		buffer_text(out, "| ");
		put_code(out, buffer_view(&place));
		buffer_printf(out, " | %s | ", change_text(text, site->weight, is_bytes));
		compare_put_share(out, site->weight);
		buffer_text(out, " |\n");
	}
	buffer_text(out, "\n</details>\n\n");
}

void report_compare_markdown(struct buffer *out, const struct compare_request *request) {
	SCOPED(arena) arena = {0};
	struct total totals[N_TOTALS];
	totals_of(request, &arena, totals);
	buffer_text(out, "### Heap: ");
	put_code(out, path_base(slice_of_text(request->file)));
	if (request->has_base) {
		buffer_text(out, " against ");
		put_code(out, path_base(slice_of_text(request->base_file)));
	}
	buffer_text(out, "\n\n");
	put_gates(out, request);
	put_totals(out, request, totals);
	each_compared_metric(request, put_sites, out, &arena);
}
