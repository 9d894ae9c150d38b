// SPDX-License-Identifier: MIT
/*
 * The views that are trees, as text. What is below one part in a hundred is summed up in one line.
 */
#include "report/view/viewer.h"

enum { SMALLEST_SHARE = 100, INDENT = 2, DEEPEST = 200, INDENT_MAX = 60 };

static bool is_shown(const struct viewer *v, const struct lens_costs *c) {
	uint64_t weight = lens_weight(v->lens, c);
	return weight && weight >= lens_weight(v->lens, &v->result.total) / SMALLEST_SHARE;
}

static size_t indent_of(uint32_t depth) {
	size_t indent = (size_t)depth * INDENT;
	return indent < INDENT_MAX ? indent : INDENT_MAX;
}

bool view_open_node(struct viewer *v, const struct up_node *node, enum view_way way,
		struct up_nodes *out) {
	return way == VIEW_CALLEES
			? up_node_callees(&v->costs, node, &v->arena, out, v->err)
			: up_node_open(&v->costs, node, way == VIEW_CALLERS_OF_ONE, &v->arena, out, v->err);
}

static bool put_level(struct viewer *v, const struct up_nodes *level, enum view_way way,
		uint32_t depth) {
	struct lens_costs more = {0};
	uint32_t n_more = 0;
	EACH(node, *level) {
		if (!is_shown(v, &node->costs)) {
			n_more += node->costs.blocks || node->costs.bytes;
			lens_costs_add(&more, &node->costs);
			continue;
		}
		viewer_put_costs(v, &node->costs);
		put_spaces(v->out, indent_of(depth));
		viewer_put_label(v, node->node);
		buffer_u8(v->out, '\n');
		struct up_nodes below;
		if (depth < DEEPEST &&
				(!view_open_node(v, node, way, &below) || !put_level(v, &below, way, depth + 1))) {
			return false;
		}
	}
	viewer_put_more(v, indent_of(depth), n_more, &more);
	return true;
}

/** From the outside in: what is called from everything, and what that calls. */
bool view_put_tree(struct viewer *v) {
	struct up_entry all = {0};
	const struct up_node root = {.entries = &all, .n_entries = 1};
	struct up_nodes level;
	viewer_put_head(v, "call tree, from the outermost function down");
	return view_open_node(v, &root, VIEW_CALLEES, &level) && put_level(v, &level, VIEW_CALLEES, 0);
}

bool view_put_bottom_up(struct viewer *v) {
	struct up_nodes level;
	viewer_put_head(v, "allocating functions, and their callers");
	return call_tree_bottom_up(&v->costs, &v->arena, &level, v->err) &&
			put_level(v, &level, VIEW_CALLERS_OF_ENDS, 0);
}

bool view_find_function(struct viewer *v, struct up_nodes *out) {
	struct call_functions functions;
	bool ok = call_tree_callers(&v->costs, v->request->of, &v->arena, out, v->err);
	if (!ok || out->n) {
		return ok;
	}
	if (!call_tree_functions(&v->costs, &v->arena, &functions, v->err)) {
		return false;
	}
	SCOPED(buffer) list = {0};
	EACH_NUMBER(i, 5u, i < functions.n && functions.items[i].node) {
		buffer_printf(&list, "%s%.*s", list.size ? ", " : "",
				SLICE_ARG(call_tree_label(&v->tree, functions.items[i].node)));
	}
	return viewer_lacks(v, "function", &list);
}

bool view_put_callers(struct viewer *v) {
	struct up_nodes level;
	if (!view_find_function(v, &level)) {
		return false;
	}
	viewer_put_head(v, "callers");
	if (!put_level(v, &level, VIEW_CALLERS_OF_ONE, 0)) {
		return false;
	}
	buffer_u8(v->out, '\n');
	viewer_put_head(v, "callees");
	return put_level(v, &level, VIEW_CALLEES, 0);
}
