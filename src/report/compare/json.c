// SPDX-License-Identifier: MIT
#include "engine/facts_json.h"
#include "report/compare.h"
#include "report/compare/parts.h"

static void put_totals(struct json *j, const char *key, const struct total totals[N_TOTALS],
		int side) {
	json_open(j, key, '{');
	for (int i = 0; i < N_TOTALS; i++) {
		if (totals[i].is_known[side]) {
			json_number(j, totals[i].key, totals[i].value[side]);
		} else {
			json_null(j, totals[i].key);
		}
	}
	json_close(j);
}

static void put_side(struct json *j, const char *key, const struct lens_costs *c) {
	json_open(j, key, '{');
	json_number(j, "bytes", c->bytes);
	json_number(j, "blocks", c->blocks);
	json_number(j, "allocations", c->allocations);
	json_number(j, "temporary", c->temporary);
	json_close(j);
}

static const char *change_word(enum diff_change change) {
	return change == DIFF_NEW ? "new" : change == DIFF_GONE ? "gone" : "changed";
}

static void put_one_site(struct json *j, const struct diff_site *site, const struct lens *lens) {
	const struct name *name = site->name;
	json_open(j, NULL, '{');
	json_string(j, "function", site->label);
	if (name && name->file.size) {
		json_string(j, "file", name->file);
		json_number(j, "line", name->line);
	} else {
		json_null(j, "file");
		json_null(j, "line");
	}
	json_text(j, "change", change_word(diff_change_of(lens, &site->costs)));
	json_signed(j, "delta", diff_delta(lens, &site->costs));
	put_side(j, "this", &site->costs.side[DIFF_OURS]);
	put_side(j, "base", &site->costs.side[DIFF_BASE]);
	json_close(j);
}

static bool put_sites(struct json *j, const struct compare_request *request,
		enum lens_metric metric, struct arena *arena, struct err *err) {
	struct diff_sites sites;
	uint32_t n;
	struct lens lens = *request->input[DIFF_OURS].lens;
	lens.metric = metric;
	if (!changed_sites(request, metric, arena, &sites, &n, err)) {
		return false;
	}
	char key[METRIC_KEY_MAX];
	json_open(j, metric_json_key(key, metric), '[');
	for (uint32_t i = 0; i < n; i++) {
		put_one_site(j, &sites.items[i], &lens);
	}
	json_close(j);
	return true;
}

void compare_put_gates_json(struct json *j, const struct compare_request *request) {
	json_open(j, "gates", '[');
	for (uint32_t i = 0; i < request->n_gates; i++) {
		const struct gate_result *g = &request->gates[i];
		json_open(j, NULL, '{');
		json_text(j, "gate", g->gate->text);
		json_bool(j, "failed", g->is_failed);
		json_text(j, "text", g->sentence);
		json_close(j);
	}
	json_close(j);
}

bool report_compare_json(struct buffer *out, const struct compare_request *request,
		struct err *err) {
	struct json j = json_init(out);
	struct arena arena = {0};
	struct total totals[N_TOTALS];
	bool ok = totals_of(request, &arena, totals, err);
	if (ok) {
		json_open(&j, NULL, '{');
		document_put_version(&j);
		put_totals(&j, "this", totals, DIFF_OURS);
		if (request->has_base) {
			put_totals(&j, "base", totals, DIFF_BASE);
		}
		compare_put_gates_json(&j, request);
		json_open(&j, "changed", '{');
		for (enum lens_metric m = 0; ok && request->has_base && m < N_LENS_METRICS; m++) {
			ok = !lens_metrics[m].compared || put_sites(&j, request, m, &arena, err);
		}
		json_close(&j);
		json_close(&j);
		buffer_u8(out, '\n');
	}
	arena_finish(&arena);
	return ok && (!out->failed || err_memory(err));
}
