// SPDX-License-Identifier: MIT
/* A view as text: the lens's totals, then the view itself. */
#include "report/view/viewer.h"

static void put_totals(struct viewer *v) {
	const struct lens_costs *total = &v->result.total;
	const bool is_of_graph = v->r->of >= METRIC_OF_GRADED;
	const char *unit = v->r->of == METRIC_OF_MAPPINGS ? "mapping" : "block";
	buffer_printf(v->out, "%s: %s", lens_metrics[v->lens->metric].title, HUMAN_BYTES(total->bytes));
	if (v->r->of != METRIC_OF_RESIDENT && viewer_has_blocks(v)) { // blocks and mappings
		buffer_printf(v->out, " in %s", COUNTED(total->blocks, unit));
	}
	if (lens_metrics[v->lens->metric].rule == METRIC_LIVE_AT_LARGEST &&
			!(v->r->missing & REC_TIME)) {
		buffer_printf(v->out, ", at %s",
				is_of_graph ? LOOK_MOMENT(v->result.moment_ns)
							: HUMAN_DURATION(v->result.moment_ns));
	}
	if (v->lens->has_range && !is_of_graph) {
		buffer_printf(v->out, "; time range from %s to %s",
				HUMAN_DURATION(lens_edge_ns(v->r, v->lens->from)),
				HUMAN_DURATION(lens_edge_ns(v->r, v->lens->to)));
	}
	struct slice text = lens_text(v->lens, v->r, &v->arena);
	if (text.size) {
		buffer_printf(v->out, "\nlens: %.*s", SLICE_ARG(text));
	}
	buffer_text(v->out, "\n");
	if (total->blocks == 0 && total->bytes == 0) {
		buffer_text(v->out, "Nothing matches this lens.\n");
	} else if (v->lens->has_range && v->r->of == METRIC_OF_BLOCKS) {
		buffer_printf(v->out, "allocated in this range: %s allocations, %s, %s temporary\n",
				HUMAN_COUNT(total->allocations), HUMAN_BYTES(total->allocated_bytes),
				HUMAN_COUNT(total->temporary));
	}
}

bool report_view(struct buffer *out, const struct recording *r, const struct names *n,
		const struct report_options *options, const struct view_request *request, struct err *err) {
	static void (*const put[N_VIEWS])(struct viewer *) = {
#define PUT(id, name, ...) [VIEW_##id] = view_put_##name,
			VIEWS(PUT)};
	SCOPED(viewer) v;
	if (!viewer_init(&v, out, r, n, options, request, err)) {
		return false;
	}
	bool is_of_blocks = request->view != VIEW_MEMORY;
	if (is_of_blocks) {
		put_totals(&v);
	}
	bool is_shown = v.result.total.blocks || request->view == VIEW_TIMELINE || !is_of_blocks;
	if (put[request->view] && is_shown) {
		buffer_text(out, is_of_blocks ? "\n" : "");
		put[request->view](&v);
	}
	return !v.is_broken;
}
