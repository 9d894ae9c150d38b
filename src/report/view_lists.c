// SPDX-License-Identifier: MIT
#include "base/human.h"
#include "engine/lens_match.h"
#include "report/columns.h"
#include "report/viewer.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

// Flat lists as text: functions, parts and the stacks of a site.

enum { ROWS = 30, STACKS = 10 };

// ---- functions and parts

static void put_own(struct viewer *v, const struct lens_costs *c) {
	char own[HUMAN_MAX];
	bool is_by_number = v->lens->metric == LENS_ALLOCATIONS || v->lens->metric == LENS_TEMPORARY;
	put_right(v->out, is_by_number ? human_count(own, c->blocks) : human_compact(own, c->bytes), 8);
	buffer_text(v->out, "  ");
}

bool view_put_functions(struct viewer *v, struct err *err) {
	struct call_functions f;
	if (!call_tree_functions(&v->tree, &v->costs, v->lens, &v->arena, &f, err)) {
		return false;
	}
	viewer_put_head(v, "     own  with what it calls");
	uint32_t n = 0;
	while (n < f.n && f.items[n].all.blocks) {
		n++; // what weighs nothing stands last
	}
	for (uint32_t i = 0; i < n && i < ROWS; i++) {
		viewer_put_costs(v, &f.items[i].all);
		put_own(v, &f.items[i].own);
		if (!viewer_put_label(v, f.items[i].node)) {
			return err_memory(err);
		}
		buffer_u8(v->out, '\n');
	}
	if (n > ROWS) {
		buffer_printf(v->out, "  … %" PRIu32 " more\n", n - ROWS);
	}
	return true;
}

bool view_put_parts(struct viewer *v, struct err *err) {
	struct breakdown b;
	if (!breakdown_make(v->request->by, v->lens, v->r, v->names, &v->result, &v->arena, &b, err)) {
		return false;
	}
	char title[32];
	bool is_ranked = v->request->by == BY_SITE || v->request->by == BY_THREAD;
	(void)snprintf(title, sizeof title, "by %s", breakdown_names[v->request->by]);
	viewer_put_head(v, title);
	struct lens_costs more = {0};
	uint32_t n_more = 0;
	for (uint32_t i = 0; i < b.n; i++) {
		const struct part *p = &b.parts[i];
		if (p->costs.blocks == 0) {
			continue;
		}
		if (is_ranked && i >= ROWS && !p->is_rest) {
			n_more++;
			lens_costs_add(&more, &p->costs);
			continue;
		}
		viewer_put_costs(v, &p->costs);
		bool ok = true;
		if (p->name) {
			ok = viewer_put_frame(v, p->name, 0);
		} else {
			put_cut_padded(v->out, p->label, columns_of(p->label));
		}
		buffer_u8(v->out, '\n');
		if (!ok) {
			return err_memory(err);
		}
	}
	viewer_put_more(v, 0, n_more, &more);
	return true;
}

// ---- stacks

struct rank {
	uint64_t weight;
	uint32_t stack;
};

static int heaviest_first(const void *a, const void *b) {
	const struct rank *x = a, *y = b;
	if (x->weight != y->weight) {
		return x->weight < y->weight ? 1 : -1;
	}
	return x->stack < y->stack ? -1 : x->stack > y->stack;
}

static bool is_of_site(const struct viewer *v, uint32_t stack) {
	const struct lens_costs *c = &v->result.stacks[stack];
	const struct name *site = names_site(v->names, v->r->stacks.items[stack].node);
	return (c->blocks || c->allocations) && site &&
			(v->request->of.size == 0 || lens_is_named(site->function, v->request->of));
}

static bool no_such_site(struct viewer *v, struct err *err) {
	struct breakdown b;
	if (!breakdown_make(BY_SITE, v->lens, v->r, v->names, &v->result, &v->arena, &b, err)) {
		return false;
	}
	struct buffer list = {0};
	for (uint32_t i = 0; i < b.n && i < 5; i++) {
		buffer_printf(&list, "%s%.*s", i ? ", " : "", SLICE_ARG(b.parts[i].label));
	}
	(void)err_set(err, ERR_NOT_FOUND, "no stack is named after %.*s under this lens%s%.*s",
			SLICE_ARG(v->request->of), list.size ? "; there are: " : "",
			SLICE_ARG(buffer_view(&list)));
	buffer_finish(&list);
	return false;
}

bool view_find_stacks(struct viewer *v, uint32_t **stacks, uint32_t *n, struct lens_costs *total,
		struct err *err) {
	struct rank *ranks = malloc((v->r->stacks.n + 1ul) * sizeof *ranks);
	*stacks = arena_new(&v->arena, uint32_t, v->r->stacks.n);
	*total = (struct lens_costs){0};
	*n = 0;
	if (!ranks || !*stacks) {
		free(ranks);
		return err_memory(err);
	}
	for (uint32_t i = 0; i < v->r->stacks.n; i++) {
		if (is_of_site(v, i)) {
			ranks[(*n)++] = (struct rank){lens_weight(v->lens, &v->result.stacks[i]), i};
			lens_costs_add(total, &v->result.stacks[i]);
		}
	}
	qsort(ranks, *n, sizeof *ranks, heaviest_first);
	for (uint32_t i = 0; i < *n; i++) {
		(*stacks)[i] = ranks[i].stack;
	}
	free(ranks);
	return *n > 0 || v->request->of.size == 0 || no_such_site(v, err);
}

/** Frames under each other, innermost first; a run of library frames is its outermost. */
static bool put_frames(struct viewer *v, uint32_t stack) {
	struct stack_walk w = stack_walk_init(v->r, v->names, v->r->stacks.items[stack].node);
	const struct name *f = stack_walk_next(&w);
	while (f) {
		const struct name *next = stack_walk_next(&w);
		uint32_t n_folded = 0;
		while (!v->lens->is_unfolded && f->owner == OWNER_LIBRARY && next &&
				next->owner == OWNER_LIBRARY) {
			n_folded++;
			f = next;
			next = stack_walk_next(&w);
		}
		put_spaces(v->out, 14);
		if (!viewer_put_frame(v, f, n_folded)) {
			return false;
		}
		buffer_u8(v->out, '\n');
		f = next;
	}
	return true;
}

bool view_put_stacks(struct viewer *v, struct err *err) {
	uint32_t *stacks, n;
	struct lens_costs total, more = {0};
	if (!view_find_stacks(v, &stacks, &n, &total, err)) {
		return false;
	}
	viewer_put_head(v, "stacks, heaviest first");
	viewer_put_costs(v, &total);
	buffer_printf(v->out, "%" PRIu32 " stack%s%s%.*s\n", n, n == 1 ? "" : "s",
			v->request->of.size ? " of " : "", SLICE_ARG(v->request->of));
	for (uint32_t i = 0; i < n; i++) {
		if (i >= STACKS) {
			lens_costs_add(&more, &v->result.stacks[stacks[i]]);
			continue;
		}
		buffer_u8(v->out, '\n');
		viewer_put_costs(v, &v->result.stacks[stacks[i]]);
		buffer_u8(v->out, '\n');
		if (!put_frames(v, stacks[i])) {
			return err_memory(err);
		}
	}
	if (n > STACKS) {
		buffer_u8(v->out, '\n');
		viewer_put_more(v, 0, n - STACKS, &more);
	}
	return true;
}
