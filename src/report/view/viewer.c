// SPDX-License-Identifier: MIT
/* What all views have in common: rows of figures in front of names, and the engine's results. */
#include "report/view/viewer.h"

enum { ROW_BYTES = 8, ROW_BLOCKS = 12, WIDTH_MAX = 200 };

static const bool has_tree[N_VIEWS] = {
#define HAS_TREE(id, name, has_tree) [VIEW_##id] = has_tree,
		VIEWS(HAS_TREE)};

bool viewer_init(struct viewer *v, struct buffer *out, const struct recording *r,
		const struct names *n, const struct report_options *options,
		const struct view_request *request, struct err *err) {
	*v = (struct viewer){
			.out = out,
			.r = r,
			.names = n,
			.options = options,
			.request = request,
			.lens = request->lens,
			.err = err,
			.width = width_asked(options, WIDTH_MAX),
	};
	if (!lens_apply(v->lens, r, n, &v->arena, &v->result, err)) {
		return false;
	}
	if (has_tree[request->view]) {
		v->tree = call_tree_make(v->lens, r, n, &v->arena);
		v->costs = call_tree_costs(&v->tree, v->lens, &v->result, &v->arena);
	}
	return true;
}

void viewer_lacks(struct viewer *v, const char *what, const struct buffer *candidates) {
	v->is_broken = !err_not_found(v->err, "no %s %.*s under this lens%s%.*s", what,
			SLICE_ARG(v->request->of), candidates->size ? "; candidates: " : "",
			SLICE_ARG(buffer_view(candidates)));
}

// ---- rows

/** What shares are of: what a lens leaves over, if it leaves anything out. */
static const char *share_of(const struct lens *l) {
	return lens_selects(l) ? "lens" : lens_metrics[l->metric].share;
}

/** As wide as the column's head and a gap before it. */
static size_t share_width(const struct lens *l) {
	return strlen("  % of ") + strlen(share_of(l));
}

void viewer_put_head(struct viewer *v, const char *what) {
	put_right(v->out, "bytes", ROW_BYTES);
	buffer_printf(v->out, "  %% of %s", share_of(v->lens));
	put_right(v->out, lens_metrics[v->lens->metric].unit, ROW_BLOCKS);
	buffer_printf(v->out, "  %s\n", what);
}

void viewer_put_costs(struct viewer *v, const struct lens_costs *c) {
	uint64_t all = lens_weight(v->lens, &v->result.total), part = lens_weight(v->lens, c);
	bool is_small = part > 0 && (double)part < (double)all * 0.0995;
	put_right(v->out, HUMAN_COMPACT(c->bytes), ROW_BYTES);
	put_right(v->out, HUMAN_SHARE(part, all, is_small), share_width(v->lens));
	put_right(v->out, viewer_has_blocks(v) ? HUMAN_COUNT(c->blocks) : "", ROW_BLOCKS);
	buffer_text(v->out, "  ");
}

void viewer_put_more(struct viewer *v, size_t indent, uint32_t n, const struct lens_costs *c) {
	if (n > 0) {
		viewer_put_costs(v, c);
		put_spaces(v->out, indent);
		buffer_printf(v->out, "… %" PRIu32 " more\n", n);
	}
}

typedef void put_cut(struct buffer *out, struct slice s, size_t width);

/** Puts as much as the line has room for. */
static void put_rest(struct viewer *v, struct slice text, put_cut *put) {
	size_t used = ROW_BYTES + share_width(v->lens) + ROW_BLOCKS + 2;
	put(v->out, text, v->width > used ? v->width - used : 0);
	trim_spaces(v->out);
}

void viewer_put_frame(struct viewer *v, const struct name *frame, uint32_t n_folded) {
	SCOPED(buffer) line = {0};
	buffer_text(&line, function_short(frame->function, &v->arena));
	if (n_folded) {
		buffer_printf(&line, " +%" PRIu32, n_folded);
	} else {
		buffer_text(&line, "  ");
		put_place(&line, frame); // trailing spaces are trimmed
	}
	put_rest(v, buffer_view(&line), put_cut_padded);
}

void viewer_put_label(struct viewer *v, uint32_t node) {
	const struct call_node *c = &v->tree.nodes[node];
	if (node == 0) {
		buffer_text(v->out, "(no stack)");
	} else if (v->tree.labels) {
		put_rest(v, call_tree_label(&v->tree, node), put_left); // the end of a path tells most
	} else {
		viewer_put_frame(v, c->name, c->n_folded);
	}
}
