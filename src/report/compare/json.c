// SPDX-License-Identifier: MIT
/* A comparison for programs. */
#include "report/compare/parts.h"

static void put_totals(struct json *j, const char *key, const struct total totals[N_TOTALS],
		int side) {
	JSON_OBJECT(j, key);
	for (int i = 0; i < N_TOTALS; i++) {
		json_number_if(j, totals[i].key, totals[i].is_known[side], totals[i].value[side]);
	}
}

static void put_side(struct json *j, const char *key, const struct lens_costs *c) {
	JSON_OBJECT(j, key);
	JSON_FIELDS(j, c, bytes, blocks, allocations, temporary);
}

static void put_one_site(struct json *j, const struct diff_site *site) {
	const struct name *name = site->name;
	uint64_t ours = site->weight[DIFF_OURS], base = site->weight[DIFF_BASE];
	JSON_OBJECT(j, NULL);
	json_string(j, "function", site->label);
	bool has_file = name && name->file.size;
	json_string_if(j, "file", has_file ? name->file : (struct slice){0});
	json_number_if(j, "line", has_file, has_file ? name->line : 0);
	json_text(j, "change", !base ? "new" : !ours ? "gone" : "changed");
	json_signed(j, "delta", (int64_t)(ours - base));
	put_side(j, "this", &site->costs[DIFF_OURS]);
	put_side(j, "base", &site->costs[DIFF_BASE]);
}

static void put_sites(void *to, const struct compare_request *request, enum lens_metric metric,
		const struct diff_sites *sites, struct arena *arena) {
	(void)request, (void)arena;
	struct json *j = to;
	char key[METRIC_KEY_MAX];
	JSON_LIST(j, metric_json_key(key, metric));
	for (uint32_t i = 0; i < sites->n_changed; i++) {
		put_one_site(j, &sites->items[i]);
	}
}

void report_compare_json(struct buffer *out, const struct compare_request *request) {
	struct json j = json_init(out);
	SCOPED(arena) arena = {0};
	struct total totals[N_TOTALS];
	totals_of(request, &arena, totals);
	JSON_DOCUMENT(&j);
	document_put_version(&j);
	put_totals(&j, "this", totals, DIFF_OURS);
	if (request->has_base) {
		put_totals(&j, "base", totals, DIFF_BASE);
	}
	compare_put_gates_json(&j, request);
	JSON_OBJECT(&j, "changed");
	each_compared_metric(request, put_sites, &j, &arena);
}

// ---- JUnit's XML as CI servers read it: a suite, a case per gate, a failure with the sentence

void report_junit(struct buffer *out, const struct compare_request *request) {
	uint64_t n_failed = SUM(i, request->n_gates, request->gates[i].is_failed);
	buffer_text(out, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites>\n");
	buffer_printf(out,
			"<testsuite name=\"heaptrack\" tests=\"%" PRIu32 "\" failures=\"%" PRIu64
			"\" errors=\"0\" skipped=\"0\">\n",
			request->n_gates, n_failed);
	EACH_OF(g, request->gates, request->n_gates) {
		buffer_text(out, "<testcase classname=\"");
		markup_put(out, slice_of_text(request->file));
		buffer_text(out, "\" name=\"");
		markup_put(out, slice_of_text(g->gate->text));
		buffer_text(out, g->is_failed ? "\"><failure message=\"" : "\"><system-out>");
		markup_put(out, slice_of_text(g->sentence));
		buffer_text(out, g->is_failed ? "\"/></testcase>\n" : "</system-out></testcase>\n");
	}
	buffer_text(out, "</testsuite>\n</testsuites>\n");
}
