// SPDX-License-Identifier: MIT
/* The flat views as text: functions, parts and the stacks of a site. */
#include "report/view/viewer.h"

enum { ROWS = 30, STACKS = 10, OBJECTS = 10 };

// ---- functions and parts

/** A second column, in the unit that the first is ranked by. */
static void put_second(struct viewer *v, const struct lens_costs *c) {
	bool is_by_number = lens_metrics[v->lens->metric].is_counted;
	put_right(v->out, is_by_number ? HUMAN_COUNT(c->blocks) : HUMAN_COMPACT(c->bytes), 8);
	buffer_text(v->out, "  ");
}

void view_put_functions(struct viewer *v) {
	const struct call_functions f = call_tree_functions(&v->costs, &v->arena);
	bool is_grouped = v->lens->group != LENS_BY_FUNCTION;
	viewer_put_head(v,
			FORMAT(64,
					is_grouped ? "   total  %s: its own, and the total with what it calls"
							   : "     own  %s, with what it calls, and its own",
					lens_group_names[v->lens->group]));
	uint32_t n = 0;
	while (n < f.n && f.items[n].all.blocks) {
		n++; // what weighs nothing comes last
	}
	for (uint32_t i = 0; i < n && i < ROWS; i++) {
		const struct lens_costs *own = &f.items[i].own, *all = &f.items[i].all;
		viewer_put_costs(v, is_grouped ? own : all);
		put_second(v, is_grouped ? all : own);
		viewer_put_label(v, f.items[i].node);
		buffer_u8(v->out, '\n');
	}
	if (n > ROWS) {
		buffer_printf(v->out, "  … %" PRIu32 " more\n", n - ROWS);
	}
}

/** "in arenas and arrays 45,588 objects: 14,205 of ParmVarDecl, ...", for the whole look. */
static void put_objects(struct viewer *v) {
	const uint32_t look = v->r->grades.n ? v->r->grades.items[0].look : 0;
	uint64_t all = 0;
	EACH(c, v->r->classes) {
		all += c->look == look ? c->objects : 0;
	}
	FREED bool *is_told = memory_new(v->r->classes.n, sizeof *is_told);
	if (all == 0) {
		return;
	}
	buffer_printf(v->out, "\nin arenas and arrays of all live blocks %s", COUNTED(all, "object"));
	for (int i = 0; i < OBJECTS; i++) {
		const struct rec_class *rows = v->r->classes.items;
		__auto_type most = MOST(c, v->r->classes,
				is_told[c - rows] || c->look != look ? 0 : c->objects);
		if (most && most->objects > 0) {
			is_told[most - rows] = true;
			buffer_printf(v->out, "%s %s of %.*s", i ? "," : ":", HUMAN_COUNT(most->objects),
					SLICE_ARG(v->r->strings.items[most->name]));
		}
	}
	buffer_u8(v->out, '\n');
}

/** How many threads a part is of, or which one. */
static void put_threads(struct viewer *v, const struct part *p) {
	if (p->tid) {
		buffer_printf(v->out, " (%" PRIu32 ")", p->tid);
	} else if (p->n_threads > 1) {
		buffer_printf(v->out, " (%" PRIu32 " threads)", p->n_threads);
	}
}

void view_put_parts(struct viewer *v) {
	const struct breakdown b = breakdown_make(v->request->by, v->lens, v->r, v->names, &v->result,
			&v->arena);
	bool is_ranked = breakdown_is_ranked(v->request->by);
	const bool has_retained = v->request->by == BY_CLASS && v->r->of == METRIC_OF_GRADED;
	viewer_put_head(v,
			FORMAT(32, "%sby %s", has_retained ? "retained  " : "",
					breakdown_names[v->request->by]));
	struct lens_costs more = {0};
	uint32_t n_more = 0;
	for (uint32_t i = 0; i < b.n; i++) {
		const struct part *p = &b.parts[i];
		if (p->costs.blocks == 0 && p->costs.bytes == 0) {
			continue;
		}
		if (is_ranked && i >= ROWS && !p->is_rest) {
			n_more++;
			lens_costs_add(&more, &p->costs);
			continue;
		}
		viewer_put_costs(v, &p->costs);
		if (has_retained) {
			put_right(v->out, p->class ? HUMAN_COMPACT(p->class->retained_bytes) : "", 8);
			buffer_text(v->out, "  ");
		}
		if (p->name) {
			viewer_put_frame(v, p->name, 0);
		} else {
			put_cut_padded(v->out, p->label, utf8_columns(p->label));
			put_threads(v, p);
		}
		buffer_u8(v->out, '\n');
	}
	viewer_put_more(v, 0, n_more, &more);
	if (has_retained) {
		put_objects(v);
	}
}

// ---- processes

/** A process below its parent, with all below it. */
static void put_process(struct viewer *v, uint32_t row, const uint32_t *first, const uint32_t *next,
		int depth) {
	const struct rec_process *p = &v->r->processes.items[row];
	put_right(v->out, HUMAN_COMPACT(p->peak_bytes), 9);
	put_right(v->out, HUMAN_COMPACT(p->live_bytes), 9);
	put_right(v->out, p->inherited_bytes ? HUMAN_COMPACT(p->inherited_bytes) : "", 10);
	put_right(v->out, p->peak_rss_bytes ? HUMAN_COMPACT(p->peak_rss_bytes) : "", 10);
	put_right(v->out, p->pss_bytes ? HUMAN_COMPACT(p->pss_bytes) : "", 9);
	put_right(v->out, HUMAN_COUNT(p->allocations), 13);
	put_right(v->out, p->end_ns ? HUMAN_DURATION(p->end_ns - p->start_ns) : "", 10);
	put_right(v->out,
			p->end_ns && p->exit_status != REC_STATUS_UNKNOWN ? FORMAT(16, "%d", p->exit_status)
															  : "",
			6);
	buffer_printf(v->out, "  %*s%.*s (%" PRIu32 ")\n", 2 * depth, "",
			SLICE_ARG(v->r->strings.items[v->r->commands.items[p->command].name]), p->pid);
	for (row = first[row]; row; row = next[row]) {
		put_process(v, row, first, next, depth + 1);
	}
}

void view_put_processes(struct viewer *v) {
	enum { DEPTH_MOST = 32 }; // deeper ones are put beside their parent
	const uint32_t n = v->r->processes.n;
	uint8_t *depth = arena_new(&v->arena, uint8_t, n + 1ul);
	uint32_t *above = arena_new(&v->arena, uint32_t, n + 1ul);
	uint32_t *first = arena_new(&v->arena, uint32_t, n + 1ul);
	uint32_t *next = arena_new(&v->arena, uint32_t, n + 1ul);
	for (uint32_t i = 1; i < n; i++) {
		const uint32_t parent = v->r->processes.items[i].parent;
		above[i] = parent >= i ? 0 : depth[parent] < DEPTH_MOST ? parent : above[parent];
		depth[i] = (uint8_t)(depth[above[i]] + 1);
	}
	for (uint32_t i = n; i-- > 1;) {
		next[i] = first[above[i]];
		first[above[i]] = i;
	}
	buffer_text(v->out,
			"     peak    never  inherited  peak RSS      PSS"
			"  allocations     lived  exit  process\n"
			"             freed\n");
	for (uint32_t i = n ? first[0] : 0; i; i = next[i]) {
		put_process(v, i, first, next, 0);
	}
	if (n == 0) {
		buffer_text(v->out, "only one process was recorded (heaptrack --children)\n");
	}
}

// ---- stacks

static bool is_of_site(const struct viewer *v, uint32_t stack) {
	const struct lens_costs *c = &v->result.stacks[stack];
	const struct name *site = lens_site(v->lens, v->names, v->r->stacks.items[stack].node);
	return lens_costs_any(c) && site &&
			(v->request->of.size == 0 || lens_is_named(site->function, v->request->of));
}

static void say_no_such_site(struct viewer *v) {
	const struct breakdown b = breakdown_make(BY_SITE, v->lens, v->r, v->names, &v->result,
			&v->arena);
	SCOPED(buffer) list = {0};
	for (uint32_t i = 0; i < b.n && i < 5; i++) {
		buffer_printf(&list, "%s%.*s", i ? ", " : "", SLICE_ARG(b.parts[i].label));
	}
	viewer_lacks(v, "stacks attributed to", &list);
}

const struct rank *view_find_stacks(struct viewer *v, uint32_t *n, struct lens_costs *total) {
	struct rank *ranks = arena_new(&v->arena, struct rank, v->r->stacks.n);
	*total = (struct lens_costs){0};
	*n = 0;
	EACH_NUMBER(i, v->r->stacks.n, is_of_site(v, i)) {
		ranks[(*n)++] = (struct rank){lens_weight(v->lens, &v->result.stacks[i]), i};
		lens_costs_add(total, &v->result.stacks[i]);
	}
	qsort(ranks, *n, sizeof *ranks, rank_heaviest_first);
	if (*n == 0 && v->request->of.size > 0) {
		say_no_such_site(v);
	}
	return ranks;
}

/** A line of a stack: a frame, or a run of library frames, shown by its outermost. */
struct line {
	const struct name *frame; // NULL: past the outermost
	uint32_t n_folded;
};

static struct line next_shown(const struct viewer *v, struct stack_walk *w,
		const struct name **next) {
	struct line line = {.frame = *next};
	*next = line.frame ? stack_walk_next(w) : NULL;
	while (*next && !v->lens->is_unfolded && line.frame->owner == OWNER_LIBRARY &&
			(*next)->owner == OWNER_LIBRARY) {
		line.n_folded++;
		line.frame = *next;
		*next = stack_walk_next(w);
	}
	return line;
}

/** Stacks with the same lines: of other instances of a template, or of several threads. */
struct alike {
	uint32_t heaviest; // stack
	uint32_t n;
	uint64_t look; // hash of the lines
	struct lens_costs costs;
};

struct gathering {
	struct viewer *v;
	uint64_t *names; // per function: hash of its text; 0: not computed yet
	struct index by_look;
	struct alike *items;
	uint32_t n;
};

static uint64_t hash_line(struct gathering *g, const struct line *line, uint64_t before) {
	const struct name *f = line->frame;
	uint64_t *name = &g->names[f->function_id];
	if (!*name) {
		const char *text = function_short(f->function, &g->v->arena);
		*name = slice_hash(SLICE_HASH, slice_of_text(text)) | 1;
	}
	struct slice place = line->n_folded ? (struct slice){0}
			: f->file.size              ? path_base(f->file)
										: path_base(f->module);
	uint64_t number = line->n_folded ? line->n_folded : f->file.size ? f->line : 0;
	return slice_hash(hash_u64(before ^ *name) + number, place);
}

static void add_alike(struct gathering *g, uint32_t stack) {
	struct viewer *v = g->v;
	struct stack_walk w = stack_walk_init(v->r, v->names, v->r->stacks.items[stack].node);
	const struct name *next = stack_walk_next(&w);
	uint64_t look = 0;
	for (struct line line; (line = next_shown(v, &w, &next)).frame;) {
		look = hash_line(g, &line, look);
	}
	uint32_t i = INDEX_FIND_OR_PUT(&g->by_look, look, k, g->items[k].look == look, g->items, g->n,
			(struct alike){.heaviest = stack, .look = look});
	g->items[i].n++;
	lens_costs_add(&g->items[i].costs, &v->result.stacks[stack]);
}

HEAVIEST_FIRST(heaviest_look_first, struct alike, heaviest);

/** Stacks, heaviest first, one per distinct text. */
static const struct alike *gather_alike(struct viewer *v, const struct rank *stacks, uint32_t n,
		uint32_t *n_looks) {
	struct gathering g = {
			.v = v,
			.names = arena_new(&v->arena, uint64_t, names_n_functions(v->names)),
			.items = arena_new(&v->arena, struct alike, n),
	};
	(void)index_reserve(&g.by_look, 1);
	for (uint32_t i = 0; i < n; i++) {
		add_alike(&g, stacks[i].index);
	}
	index_finish(&g.by_look);
	*n_looks = g.n;
	qsort_r(g.items, g.n, sizeof *g.items, heaviest_look_first, (void *)v->lens);
	return g.items;
}

/** Frames on lines of their own, innermost first. */
static void put_frames(struct viewer *v, uint32_t stack) {
	struct stack_walk w = stack_walk_init(v->r, v->names, v->r->stacks.items[stack].node);
	const struct name *next = stack_walk_next(&w);
	for (struct line line; (line = next_shown(v, &w, &next)).frame;) {
		put_spaces(v->out, 14);
		viewer_put_frame(v, line.frame, line.n_folded);
		buffer_u8(v->out, '\n');
	}
}

void view_put_stacks(struct viewer *v) {
	uint32_t n, n_looks, n_more = 0;
	struct lens_costs total, more = {0};
	const struct rank *stacks = view_find_stacks(v, &n, &total);
	const struct alike *looks = gather_alike(v, stacks, n, &n_looks);
	viewer_put_head(v, "stacks, heaviest first");
	viewer_put_costs(v, &total);
	buffer_printf(v->out, "%" PRIu32 " stack%s%s%.*s\n", n, n == 1 ? "" : "s",
			v->request->of.size ? " of " : "", SLICE_ARG(v->request->of));
	for (uint32_t i = 0; i < n_looks; i++) {
		if (i >= STACKS) {
			n_more += looks[i].n;
			lens_costs_add(&more, &looks[i].costs);
			continue;
		}
		buffer_u8(v->out, '\n');
		viewer_put_costs(v, &looks[i].costs);
		if (looks[i].n > 1) {
			buffer_printf(v->out, "%" PRIu32 " stacks alike", looks[i].n);
		}
		buffer_u8(v->out, '\n');
		put_frames(v, looks[i].heaviest);
	}
	if (n_more) {
		buffer_u8(v->out, '\n');
		viewer_put_more(v, 0, n_more, &more);
	}
}
