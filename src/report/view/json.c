// SPDX-License-Identifier: MIT
/* The views for programs. Trees are lists in pre-order with parents: nesting has no bound. */
#include "report/view/viewer.h"

enum { USUAL_DEPTH = 3 };

struct writer {
	struct json j;
	struct viewer *v;
	uint32_t n_items;       // of the tree being written
	uint32_t n_left_out;    // of the list: what is beyond the limit
	struct lens_costs rest; // what that costs
};

static void end_item(struct writer *w) {
	w->v->is_broken |= !report_end_item(&w->j, w->v->options, w->v->err);
}

static void put_costs(struct writer *w, const struct lens_costs *c) {
	const uint32_t missing = w->v->r->missing;
	json_number(&w->j, "bytes", c->bytes);
	json_number_if(&w->j, "blocks", viewer_has_blocks(w->v), c->blocks);
	json_number_if(&w->j, "allocations", !(missing & REC_ALLOCATIONS), c->allocations);
	json_number_if(&w->j, "allocated_bytes", !(missing & REC_ALLOCATED_BYTES), c->allocated_bytes);
	json_number_if(&w->j, "temporary", !(missing & REC_TEMPORARY), c->temporary);
}

/** What a node of the call tree is: a function with its place, or a group. */
static void put_label(struct writer *w, uint32_t node) {
	const struct call_tree *t = &w->v->tree;
	const struct call_node *c = &t->nodes[node];
	if (!c->name) {
		json_null(&w->j, "function");
	} else if (t->labels) {
		json_string(&w->j, lens_group_names[w->v->lens->group], call_tree_label(t, node));
	} else {
		name_put_json(&w->j, c->name, NULL);
		json_number(&w->j, "folded", c->n_folded);
	}
}

static void put_lens(struct writer *w) {
	const struct lens *l = w->v->lens;
	struct json *j = &w->j;
	json_open(j, "lens", '{');
	json_string(j, "text", lens_text(l, w->v->r, &w->v->arena));
	json_text(j, "metric", lens_metric_names[l->metric]);
	json_text(j, "group", lens_group_names[l->group]);
	json_bool(j, "folded", !l->is_unfolded);
	if (l->has_range) {
		json_signed(j, "from_edge", l->from);
		json_signed(j, "to_edge", l->to);
	} else {
		json_null(j, "from_edge");
		json_null(j, "to_edge");
	}
	const struct recording *r = w->v->r;
	const bool has_time = !(r->missing & REC_TIME);
	json_number_if(j, "from_ns", has_time, l->has_range ? lens_edge_ns(r, l->from) : 0);
	json_number_if(j, "to_ns", has_time,
			l->has_range ? lens_edge_ns(r, l->to) : r->meta.duration_ns);
	json_number_if(j, "moment_ns", has_time, w->v->result.moment_ns);
	json_close(j);
	JSON_OBJECT(j, "totals");
	put_costs(w, &w->v->result.total);
}

// ---- trees

/** Open an item of a list that holds a tree; returns its number. `parent` UINT32_MAX: none. */
static uint32_t open_item(struct writer *w, uint32_t parent) {
	json_open(&w->j, NULL, '{');
	json_number(&w->j, "id", w->n_items);
	json_number_if(&w->j, "parent", parent != UINT32_MAX, parent);
	return w->n_items++;
}

static void put_tree(struct writer *w) {
	const struct call_tree *t = &w->v->tree;
	const struct tree_costs *costs = &w->v->costs;
	uint32_t *ids = arena_new(&w->v->arena, uint32_t, t->n);
	JSON_LIST(&w->j, "tree");
	for (uint32_t i = 0; i < t->n && !w->v->is_broken;) {
		struct lens_costs all = call_tree_all(costs, i);
		if (i > 0 && !lens_costs_any(&all)) {
			i = t->nodes[i].end; // nor has anything below it
			continue;
		}
		ids[i] = open_item(w, i ? ids[t->nodes[i].parent] : UINT32_MAX);
		put_label(w, i);
		put_costs(w, &all);
		struct lens_costs own = call_tree_own(costs, i);
		json_number(&w->j, "own_bytes", own.bytes);
		json_number_if(&w->j, "own_blocks", viewer_has_blocks(w->v), own.blocks);
		end_item(w);
		i++;
	}
}

static void put_level(struct writer *w, const struct up_nodes *level, enum view_way way,
		uint32_t parent, uint32_t depth) {
	EACH_WHILE(node, *level, !w->v->is_broken) {
		uint32_t id = open_item(w, parent);
		put_label(w, node->node);
		put_costs(w, &node->costs);
		bool is_opened = depth > 1;
		struct up_nodes below = {0};
		below = is_opened ? view_open_node(w->v, node, way) : below;
		json_bool(&w->j, "opened", is_opened);
		json_number(&w->j, "own_bytes", below.outermost.bytes);
		json_number_if(&w->j, "own_blocks", viewer_has_blocks(w->v), below.outermost.blocks);
		end_item(w);
		if (is_opened) {
			put_level(w, &below, way, id, depth - 1);
		}
	}
}

static uint32_t depth_of(const struct writer *w) {
	return w->v->request->depth ? w->v->request->depth : USUAL_DEPTH;
}

static void put_bottom_up(struct writer *w) {
	struct viewer *v = w->v;
	const struct up_nodes level = call_tree_bottom_up(&v->costs, &v->arena);
	JSON_LIST(&w->j, "bottom_up");
	put_level(w, &level, VIEW_CALLERS_OF_ENDS, UINT32_MAX, depth_of(w));
}

static void put_callers(struct writer *w) {
	const struct up_nodes level = view_find_function(w->v);
	json_string(&w->j, "function", w->v->request->of);
	json_open(&w->j, "callers", '[');
	put_level(w, &level, VIEW_CALLERS_OF_ONE, UINT32_MAX, depth_of(w) + 1);
	json_close(&w->j);
	w->n_items = 0;
	JSON_LIST(&w->j, "callees");
	put_level(w, &level, VIEW_CALLEES, UINT32_MAX, depth_of(w) + 1);
}

// ---- lists

/** Is the item beyond the limit? Then it is added to the rest. */
static bool is_left_out(struct writer *w, uint32_t item, const struct lens_costs *c) {
	uint32_t limit = w->v->options->limit;
	if (limit == 0 || item < limit) {
		return false;
	}
	w->n_left_out++;
	lens_costs_add(&w->rest, c);
	return true;
}

static void end_list(struct writer *w) {
	json_close(&w->j);
	JSON_OBJECT(&w->j, "rest");
	json_number(&w->j, "items", w->n_left_out);
	put_costs(w, &w->rest);
}

/** Own costs of all functions add up to the total, so `rest` holds own costs. */
static void put_functions(struct writer *w) {
	struct viewer *v = w->v;
	const struct call_functions f = call_tree_functions(&v->costs, &v->arena);
	json_open(&w->j, "functions", '[');
	EACH_NUMBER(i, f.n, !w->v->is_broken && !is_left_out(w, i, &f.items[i].own)) {
		json_open(&w->j, NULL, '{');
		put_label(w, f.items[i].node);
		put_costs(w, &f.items[i].all);
		json_open(&w->j, "own", '{');
		put_costs(w, &f.items[i].own);
		json_close(&w->j);
		end_item(w);
	}
	end_list(w);
}

static void put_processes(struct writer *w) {
	processes_put_json(&w->j, w->v->r);
}

static void put_parts(struct writer *w) {
	struct viewer *v = w->v;
	const struct breakdown b = breakdown_make(v->request->by, v->lens, v->r, v->names, &v->result,
			&v->arena);
	json_text(&w->j, "by", breakdown_names[v->request->by]);
	json_open(&w->j, "parts", '[');
	for (uint32_t i = 0; i < b.n; i++) {
		const struct part *p = &b.parts[i];
		if (is_left_out(w, i, &p->costs)) {
			continue;
		}
		JSON_OBJECT(&w->j, NULL);
		json_string(&w->j, "label", p->label);
		if (p->name) {
			name_put_json(&w->j, p->name, NULL);
		}
		if (v->request->by == BY_SIZE || v->request->by == BY_LIFETIME) {
			json_number(&w->j, "least", p->least);
		}
		if (p->n_threads) {
			json_number(&w->j, "threads", p->n_threads);
		}
		if (p->tid) {
			json_number(&w->j, "tid", p->tid);
		}
		json_bool(&w->j, "is_rest", p->is_rest);
		put_costs(w, &p->costs);
	}
	end_list(w);
}

/** The member "stack" of a node. */
static void put_frames(void *user, uint32_t node) {
	struct writer *w = user;
	struct stack_walk walk = stack_walk_init(w->v->r, w->v->names, node);
	JSON_LIST(&w->j, "stack");
	for (const struct name *f; (f = stack_walk_next(&walk));) {
		JSON_OBJECT(&w->j, NULL);
		name_put_json(&w->j, f, NULL);
		json_bool(&w->j, "inlined", f->is_inlined);
	}
}

static void put_stack(struct writer *w, uint32_t stack) {
	const struct viewer *v = w->v;
	const struct rec_stack *s = &v->r->stacks.items[stack];
	json_open(&w->j, NULL, '{');
	put_costs(w, &v->result.stacks[stack]);
	json_string_if(&w->j, "thread", v->r->strings.items[v->r->threads.items[s->thread].name]);
	put_frames(w, s->node);
	end_item(w);
}

static void put_stacks(struct writer *w) {
	uint32_t n;
	struct lens_costs total;
	const struct rank *stacks = view_find_stacks(w->v, &n, &total);
	json_open(&w->j, "stacks", '[');
	EACH_NUMBER(i, n,
			!w->v->is_broken && !is_left_out(w, i, &w->v->result.stacks[stacks[i].index])) {
		put_stack(w, stacks[i].index);
	}
	end_list(w);
}

static void put_timeline(struct writer *w) {
	const struct timeline t = timeline_make(w->v->lens, w->v->r, &w->v->result, &w->v->arena);
	json_open(&w->j, "timeline", '[');
	EACH_OF(p, t.points, t.n) {
		JSON_OBJECT(&w->j, NULL);
		JSON_FIELDS(&w->j, p, edge, time_ns, bytes, blocks, allocations, allocated_bytes,
				temporary);
	}
	json_close(&w->j);
	marks_put_json(&w->j, w->v->r);
}

static void put_memory(struct writer *w) {
	const struct looks_writer looks = {&w->j, w->v->r, put_frames, w, NULL};
	JSON_LIST(&w->j, "looks");
	EACH_NUMBER(i, w->v->r->looks.n, !w->v->is_broken && memory_has_look(w->v->lens, w->v->r, i)) {
		const struct memory_look m = memory_look(w->v->r, i);
		json_open(&w->j, NULL, '{');
		look_put_json(&looks, &m);
		end_item(w);
	}
}

bool report_view_json(struct buffer *out, const struct recording *r, const struct names *n,
		const struct report_options *options, const struct view_request *request, struct err *err) {
	static void (*const put[N_VIEWS])(struct writer *) = {
#define PUT(id, name, ...) [VIEW_##id] = put_##name,
			VIEWS(PUT)};
	SCOPED(viewer) v;
	struct writer w = {.j = json_init(out), .v = &v};
	if (!viewer_init(&v, out, r, n, options, request, err)) {
		return false;
	}
	JSON_DOCUMENT(&w.j);
	document_put_version(&w.j);
	put_lens(&w);
	if (put[request->view]) {
		put[request->view](&w);
	}
	return !v.is_broken;
}
