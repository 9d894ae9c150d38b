// SPDX-License-Identifier: MIT
/*
 * The call trees of both sides as one. A node counts by what grew and what shrank below it, so that
 * changes that cancel each other are seen. As text, the largest come first, and what has less than
 * a hundredth of all change is summed up; for programs, all nodes are listed, parents first.
 */
#include "report/compare/parts.h"

enum { SMALLEST_SHARE = 100, INDENT = 2, DEEPEST = 200, INDENT_MAX = 60, COLUMN = 12 };

struct tree_writer {
	struct buffer *out;
	const struct compare_request *request;
	enum lens_metric metric;
	struct diff_tree tree;
	uint32_t *first, *next; // per node: its children, largest change first; 0: no more
};

static const char *what_of(const struct compare_request *request) {
	return request->by == N_BREAKDOWNS ? "call tree" : breakdown_names[request->by];
}

static uint64_t change_in(const struct tree_writer *w, uint32_t node) {
	return w->tree.nodes[node].grown + w->tree.nodes[node].shrunk;
}

/** Prepends siblings in ascending order, so that the largest end up first. */
static void sort_children(struct tree_writer *w, struct arena *arena) {
	uint32_t n = w->tree.n;
	struct rank *ranks = arena_new(arena, struct rank, n);
	w->first = arena_new(arena, uint32_t, n);
	w->next = arena_new(arena, uint32_t, n);
	for (uint32_t i = 0; i < n; i++) {
		ranks[i] = (struct rank){change_in(w, i), i};
	}
	qsort(ranks, n, sizeof *ranks, rank_heaviest_first);
	for (uint32_t i = n; i-- > 0;) {
		uint32_t node = ranks[i].index;
		if (node != 0) {
			uint32_t *first = &w->first[w->tree.nodes[node].parent];
			w->next[node] = *first;
			*first = node;
		}
	}
}

// ---- text

static void put_row(struct tree_writer *w, uint32_t node, size_t indent) {
	const struct diff_node *n = &w->tree.nodes[node];
	struct slice label = w->tree.labels[n->label];
	const bool is_bytes = !lens_metrics[w->metric].is_counted;
	for (int side = DIFF_BASE; side >= DIFF_OURS; side--) {
		const uint64_t number = n->weight[side];
		put_right(w->out, is_bytes ? HUMAN_BYTES(number) : HUMAN_COUNT(number), COLUMN);
	}
	compare_put_change(w->out, n->weight, is_bytes);
	put_right(w->out, change_text((char[CHANGE_MAX]){0}, n->blocks, false), COLUMN - 2);
	size_t used = 5 * COLUMN + indent;
	put_spaces(w->out, indent + 2);
	put_left(w->out, label, w->request->width > used + 20 ? w->request->width - used : 20);
	trim_spaces(w->out);
	buffer_u8(w->out, '\n');
}

static void put_below(struct tree_writer *w, uint32_t node, uint32_t depth) {
	size_t indent = depth * INDENT < INDENT_MAX ? depth * INDENT : INDENT_MAX;
	uint32_t n_more = 0;
	for (uint32_t i = w->first[node]; i && depth < DEEPEST; i = w->next[i]) {
		if (change_in(w, i) && change_in(w, i) >= change_in(w, 0) / SMALLEST_SHARE) {
			put_row(w, i, indent);
			put_below(w, i, depth + 1);
		} else {
			n_more += change_in(w, i) > 0;
		}
	}
	if (n_more) {
		put_spaces(w->out, 5ul * COLUMN + indent);
		buffer_printf(w->out, "… %" PRIu32 " that changed less\n", n_more);
	}
}

/** The metric is one that the recordings' stacks count. */
static struct tree_writer writer_of(struct buffer *out, const struct compare_request *request,
		struct arena *arena) {
	struct tree_writer w = {.out = out,
			.request = request,
			.metric = request->input[DIFF_OURS].lens->metric};
	diff_tree_make(request->by, request->input, w.metric, arena, &w.tree);
	return w;
}

void report_compare_tree(struct buffer *out, const struct compare_request *request) {
	SCOPED(arena) arena = {0};
	struct tree_writer w = writer_of(out, request, &arena);
	const struct recording *r = request->input[DIFF_OURS].recording;
	sort_children(&w, &arena);
	compare_put_head(out, request);
	if (r->of >= METRIC_OF_RESIDENT) {
		buffer_printf(out, "  this: the look at %s; base: the look at %s\n\n",
				LOOK_MOMENT(r->summary.peak_time_ns),
				LOOK_MOMENT(request->input[DIFF_BASE].recording->summary.peak_time_ns));
	}
	put_right(out, "base", COLUMN);
	put_right(out, "this", COLUMN);
	put_right(out, "change", COLUMN);
	buffer_printf(out, "%22s  %s, by %s\n", lens_metrics[w.metric].unit,
			lens_metric_names[w.metric], what_of(request));
	put_below(&w, 0, 0);
	if (change_in(&w, 0) == 0) {
		buffer_text(out, "  nothing changed\n");
	}
	compare_put_gates(out, request);
}

// ---- for programs

/** `ids`: numbers of the nodes before it; nodes without costs on either side are left out. */
static void put_node(struct json *j, const struct tree_writer *w, uint32_t node, uint32_t *ids) {
	const struct diff_node *n = &w->tree.nodes[node];
	JSON_OBJECT(j, NULL);
	json_number_if(j, "parent", node, ids[n->parent]);
	json_string_if(j, w->request->by == N_BREAKDOWNS ? "function" : "label",
			node ? w->tree.labels[n->label] : (struct slice){0});
	json_number(j, "base", n->weight[DIFF_BASE]);
	json_number(j, "this", n->weight[DIFF_OURS]);
	json_number(j, "base_blocks", n->blocks[DIFF_BASE]);
	json_number(j, "this_blocks", n->blocks[DIFF_OURS]);
	JSON_FIELDS(j, n, grown, shrunk);
}

/** When the look was taken; null: the metric needs none. */
static void put_look(struct json *j, const char *key, const struct recording *r) {
	json_number_if(j, key, r->of >= METRIC_OF_RESIDENT, r->summary.peak_time_ns);
}

void report_compare_tree_json(struct buffer *out, const struct compare_request *request) {
	SCOPED(arena) arena = {0};
	const struct tree_writer w = writer_of(out, request, &arena);
	uint32_t *ids = arena_new(&arena, uint32_t, w.tree.n + 1ul), n = 0;
	struct json j = json_init(out);
	JSON_DOCUMENT(&j);
	document_put_version(&j);
	json_text(&j, "metric", lens_metric_names[w.metric]);
	json_text(&j, "by", what_of(request));
	put_look(&j, "base_look_ns", request->input[DIFF_BASE].recording);
	put_look(&j, "this_look_ns", request->input[DIFF_OURS].recording);
	compare_put_gates_json(&j, request);
	JSON_LIST(&j, "nodes");
	EACH_OF(node, w.tree.nodes, w.tree.n) {
		const uint32_t i = (uint32_t)(node - w.tree.nodes);
		if (i == 0 || node->weight[0] || node->weight[1] || node->blocks[0] || node->blocks[1]) {
			ids[i] = n++;
			put_node(&j, &w, i, ids);
		}
	}
}
