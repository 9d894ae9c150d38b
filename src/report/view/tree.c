// SPDX-License-Identifier: MIT
/* The views that are trees, as text. What is below one percent is summed up in one line. */
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

struct up_nodes view_open_node(struct viewer *v, const struct up_node *node, enum view_way way) {
	return way == VIEW_CALLEES
			? up_node_callees(&v->costs, node, &v->arena)
			: up_node_open(&v->costs, node, way == VIEW_CALLERS_OF_ONE, &v->arena);
}

static void put_level(struct viewer *v, const struct up_nodes *level, enum view_way way,
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
		if (depth < DEEPEST) {
			const struct up_nodes below = view_open_node(v, node, way);
			put_level(v, &below, way, depth + 1);
		}
	}
	viewer_put_more(v, indent_of(depth), n_more, &more);
}

/** From the outside in: the outermost functions, and what they call. */
void view_put_tree(struct viewer *v) {
	struct up_entry all = {0};
	const struct up_node root = {.entries = &all, .n_entries = 1};
	const struct up_nodes level = view_open_node(v, &root, VIEW_CALLEES);
	viewer_put_head(v, "call tree, from the outermost function down");
	put_level(v, &level, VIEW_CALLEES, 0);
}

void view_put_bottom_up(struct viewer *v) {
	const struct up_nodes level = call_tree_bottom_up(&v->costs, &v->arena);
	viewer_put_head(v, "allocating functions, and their callers");
	put_level(v, &level, VIEW_CALLERS_OF_ENDS, 0);
}

struct up_nodes view_find_function(struct viewer *v) {
	const struct up_nodes level = call_tree_callers(&v->costs, v->request->of, &v->arena);
	if (level.n) {
		return level;
	}
	const struct call_functions functions = call_tree_functions(&v->costs, &v->arena);
	SCOPED(buffer) list = {0};
	EACH_NUMBER(i, 5u, i < functions.n && functions.items[i].node) {
		buffer_printf(&list, "%s%.*s", list.size ? ", " : "",
				SLICE_ARG(call_tree_label(&v->tree, functions.items[i].node)));
	}
	viewer_lacks(v, "function", &list);
	return level;
}

void view_put_callers(struct viewer *v) {
	const struct up_nodes level = view_find_function(v);
	viewer_put_head(v, "callers");
	put_level(v, &level, VIEW_CALLERS_OF_ONE, 0);
	buffer_u8(v->out, '\n');
	viewer_put_head(v, "callees");
	put_level(v, &level, VIEW_CALLEES, 0);
}
