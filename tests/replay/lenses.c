// SPDX-License-Identifier: MIT

/**
 * replay_lenses FILE [LENSES [SEED]]: ask a recording made with --events by random lenses, and
 * count the same by hand over the blocks of its replayed events: by their moments, not by
 * intervals, and stack by stack. Then every view must sum to the same total. Exit status 0: all do.
 */

#include "base/err.h"
#include "engine/breakdown.h"
#include "engine/call_tree.h"
#include "engine/lens.h"
#include "replay/files.h"
#include "replay/replay.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct world {
	const struct replay *replay;
	const struct recording *r;
	const struct names *names;
	uint64_t random;
	uint32_t *stack_of; // per block
};

static uint64_t some(struct world *w, uint64_t n) {
	w->random ^= w->random << 13;
	w->random ^= w->random >> 7;
	w->random ^= w->random << 17;
	return (w->random * 0x2545f4914f6cdd1d >> 16) % n;
}

// ---- random lenses, of names that are there

/** A frame of some stack. */
static const struct name *some_frame(struct world *w) {
	uint32_t stack = (uint32_t)some(w, w->r->stacks.n);
	struct stack_walk walk = stack_walk_init(w->r, w->names, w->r->stacks.items[stack].node);
	uint64_t steps = some(w, 8);
	const struct name *f = stack_walk_next(&walk);
	for (const struct name *next; steps-- && (next = stack_walk_next(&walk));) {
		f = next;
	}
	return f;
}

static struct slice *one_name(struct slice name, struct arena *arena) {
	struct slice *names = arena_new(arena, struct slice, 1);
	check(names);
	names[0] = name;
	return names;
}

static void some_texts(struct world *w, struct lens *l, struct arena *arena) {
	uint32_t n = (uint32_t)some(w, 3);
	struct lens_text *texts = arena_new(arena, struct lens_text, n);
	check(texts);
	for (uint32_t i = 0; i < n; i++) {
		const struct name *f = some_frame(w);
		if (!f) {
			continue;
		}
		struct slice whole = some(w, 4) ? f->function : f->module;
		if (whole.size == 0) {
			continue;
		}
		size_t start = some(w, whole.size), size = 1 + some(w, whole.size - start);
		texts[l->n_texts++] = (struct lens_text){
				.text = slice_of(whole.data + start, size),
				.is_negated = some(w, 2),
		};
	}
	l->texts = texts;
}

static struct lens some_lens(struct world *w, struct arena *arena) {
	const struct recording *r = w->r;
	struct lens l = lens_whole();
	l.metric = (enum lens_metric)some(w, LENS_MAPPED);
	l.group = some(w, 2) ? LENS_BY_FUNCTION : (enum lens_group)some(w, N_LENS_GROUPS);
	l.is_unfolded = some(w, 2);
	if (some(w, 4) && r->edges.n) {
		l.has_range = true;
		l.from = (int32_t)some(w, r->edges.n) - 1;
		l.to = l.from + 1 + (int32_t)some(w, r->edges.n - (uint32_t)l.from);
	}
	some_texts(w, &l, arena);
	const struct name *focus = some(w, 4) ? NULL : some_frame(w);
	const struct name *hidden = some(w, 4) ? NULL : some_frame(w);
	if (focus) {
		l.focus = one_name(focus->function, arena);
		l.n_focus = 1;
	}
	if (hidden) {
		l.hide = one_name(hidden->function, arena);
		l.n_hide = 1;
	}
	if (some(w, 4) == 0 && r->threads.n > 1) {
		uint32_t thread = 1 + (uint32_t)some(w, r->threads.n - 1);
		l.threads = one_name(r->strings.items[r->threads.items[thread].name], arena);
		l.n_threads = 1;
	}
	return l;
}

// ---- by hand

static bool holds(struct slice s, struct slice text) {
	for (size_t i = 0; i + text.size <= s.size; i++) {
		if (strncasecmp((const char *)s.data + i, (const char *)text.data, text.size) == 0) {
			return true;
		}
	}
	return false;
}

static bool stack_holds(const struct world *w, uint32_t stack, struct slice text) {
	struct stack_walk walk = stack_walk_init(w->r, w->names, w->r->stacks.items[stack].node);
	for (const struct name *f; (f = stack_walk_next(&walk));) {
		if (holds(f->function, text) || holds(f->file, text) || holds(f->module, text)) {
			return true;
		}
	}
	return false;
}

static bool stack_calls(const struct world *w, uint32_t stack, struct slice function) {
	struct stack_walk walk = stack_walk_init(w->r, w->names, w->r->stacks.items[stack].node);
	for (const struct name *f; (f = stack_walk_next(&walk));) {
		if (lens_is_named(f->function, function)) {
			return true;
		}
	}
	return false;
}

static bool is_shown(const struct world *w, const struct lens *l, uint32_t stack) {
	for (uint32_t i = 0; i < l->n_texts; i++) {
		if (stack_holds(w, stack, l->texts[i].text) == l->texts[i].is_negated) {
			return false;
		}
	}
	uint32_t thread = w->r->stacks.items[stack].thread;
	bool is_of_thread = l->n_threads == 0 ||
			(thread &&
					slice_equal(w->r->strings.items[w->r->threads.items[thread].name],
							l->threads[0]));
	return is_of_thread && (l->n_focus == 0 || stack_calls(w, stack, l->focus[0]));
}

/** The moments that a lens speaks of: blocks born after `start`, up to `end`; alive at `at`. */
struct moments {
	uint64_t start, end, at;
};

static struct moments moments_of(const struct world *w, const struct lens *l) {
	const struct recording *r = w->r;
	struct moments m = {.end = UINT64_MAX, .at = UINT64_MAX};
	uint64_t most = 0;
	bool is_found = false;
	if (l->has_range && l->from >= 0) {
		m.start = r->edges.items[l->from].time_ns;
	}
	if (l->has_range && l->to < (int32_t)r->edges.n) {
		m.end = r->edges.items[l->to].time_ns;
	}
	for (uint32_t i = 0; i < r->edges.n; i++) {
		const struct rec_edge *e = &r->edges.items[i];
		bool is_in = !l->has_range || ((int32_t)i > l->from && (int32_t)i <= l->to);
		if (is_in && (!is_found || e->bytes > most)) {
			is_found = true;
			most = e->bytes;
			m.at = e->time_ns;
		}
	}
	return m;
}

static bool is_counted(const struct replay_block *b, const struct moments *m,
		enum lens_metric metric) {
	bool is_made = b->birth > m->start && b->birth <= m->end;
	switch (lens_metrics[metric].rule) {
	case METRIC_LIVE_AT_LARGEST:
		return m->at == UINT64_MAX ? b->death == UINT64_MAX : b->birth <= m->at && b->death > m->at;
	case METRIC_NEVER_FREED: return is_made && b->death == UINT64_MAX;
	case METRIC_KEPT:
		return is_made && (m->end == UINT64_MAX ? b->death == UINT64_MAX : b->death > m->end);
	case METRIC_MADE_TEMPORARY: return is_made && b->is_temporary;
	case METRIC_MADE:
	case N_METRIC_RULES: break;
	}
	return is_made;
}

static struct lens_costs *count(const struct world *w, const struct lens *l) {
	const struct moments m = moments_of(w, l);
	struct lens_costs *costs = calloc(w->r->stacks.n + 1ul, sizeof *costs);
	check(costs);
	for (size_t i = 0; i < w->replay->blocks.n; i++) {
		const struct replay_block *b = &w->replay->blocks.items[i];
		struct lens_costs *c = &costs[w->stack_of[i]];
		bool is_made = b->birth > m.start && b->birth <= m.end;
		bool is_asked = is_counted(b, &m, l->metric);
		c->bytes += is_asked ? b->size : 0;
		c->blocks += is_asked;
		c->allocations += is_made;
		c->allocated_bytes += is_made ? b->size : 0;
		c->temporary += is_made && b->is_temporary;
	}
	for (uint32_t i = 0; i < w->r->stacks.n; i++) {
		if (!is_shown(w, l, i)) {
			costs[i] = (struct lens_costs){0};
		}
	}
	return costs;
}

// ---- both

static bool same(const char *what, const struct lens_costs *ours, const struct lens_costs *theirs,
		struct err *err) {
	return memcmp(ours, theirs, sizeof *ours) == 0 ||
			err_set(err, ERR_FORMAT,
					"%s: %" PRIu64 " bytes in %" PRIu64 " blocks, %" PRIu64
					" allocations of %" PRIu64 " bytes, %" PRIu64 " temporary; by hand %" PRIu64
					", %" PRIu64 ", %" PRIu64 ", %" PRIu64 ", %" PRIu64,
					what, theirs->bytes, theirs->blocks, theirs->allocations,
					theirs->allocated_bytes, theirs->temporary, ours->bytes, ours->blocks,
					ours->allocations, ours->allocated_bytes, ours->temporary);
}

static bool stacks_agree(const struct world *w, const struct lens *l,
		const struct lens_result *result, struct err *err) {
	struct lens_costs *ours = count(w, l);
	struct lens_costs total = {0};
	bool ok = true;
	for (uint32_t i = 0; ok && i < w->r->stacks.n; i++) {
		struct lens_costs theirs = result->stacks[i];
		if (lens_metrics[l->metric].rule == METRIC_MADE_TEMPORARY && l->has_range) {
			ours[i].bytes = theirs.bytes; // a share by number: docs/lens.md
		}
		ok = same("a stack", &ours[i], &theirs, err) || err_add(err, "stack %u", i);
		lens_costs_add(&total, &ours[i]);
	}
	free(ours);
	return ok && same("the total", &total, &result->total, err);
}

static bool views_agree(const struct world *w, const struct lens *l,
		const struct lens_result *result, struct arena *arena, struct err *err) {
	struct lens_costs sum = {0};
	const struct call_tree tree = call_tree_make(l, w->r, w->names, arena);
	const struct tree_costs costs = call_tree_costs(&tree, l, result, arena);
	const struct call_functions functions = call_tree_functions(&costs, arena);
	const struct up_nodes up = call_tree_bottom_up(&costs, arena);
	const struct timeline timeline = timeline_make(l, w->r, result, arena);
	struct lens_costs root = call_tree_all(&costs, 0);
	if (!same("the tree", &result->total, &root, err)) {
		return false;
	}
	for (uint32_t i = 0; i < functions.n; i++) {
		lens_costs_add(&sum, &functions.items[i].own);
	}
	if (!same("functions", &result->total, &sum, err)) {
		return false;
	}
	sum = up.outermost;
	for (uint32_t i = 0; i < up.n; i++) {
		lens_costs_add(&sum, &up.items[i].costs);
	}
	if (!same("bottom-up", &result->total, &sum, err)) {
		return false;
	}
	for (unsigned by = 0; by < N_BREAKDOWNS; by++) {
		const struct breakdown parts = breakdown_make((enum breakdown_by)by, l, w->r, w->names,
				result, arena);
		sum = (struct lens_costs){0};
		for (uint32_t i = 0; i < parts.n; i++) {
			lens_costs_add(&sum, &parts.parts[i].costs);
		}
		if (!same(breakdown_names[by], &result->total, &sum, err)) {
			return false;
		}
	}
	sum = (struct lens_costs){.bytes = result->total.bytes, .blocks = result->total.blocks};
	for (uint32_t i = 0; i < timeline.n; i++) {
		sum.allocations += timeline.points[i].allocations;
		sum.allocated_bytes += timeline.points[i].allocated_bytes;
		sum.temporary += timeline.points[i].temporary;
	}
	return same("the timeline", &result->total, &sum, err);
}

static bool lens_agrees(struct world *w, struct err *err) {
	struct arena arena = {0};
	struct lens l = some_lens(w, &arena);
	struct lens_result result;
	bool ok = lens_apply(&l, w->r, w->names, &arena, &result, err) &&
			stacks_agree(w, &l, &result, err) && views_agree(w, &l, &result, &arena, err);
	if (!ok) {
		struct slice text = lens_text(&l, w->r, &arena);
		(void)err_add(err, "m=%s, %.*s", lens_metric_names[l.metric], SLICE_ARG(text));
	}
	arena_finish(&arena);
	return ok;
}

/** Row by node and thread, else by node: as the aggregate gives them out. */
static uint32_t *find_stacks(const struct world *w) {
	const struct recording *r = w->r;
	uint32_t *of = calloc(w->replay->blocks.n + 1, sizeof *of);
	uint32_t *shared = calloc(r->nodes.n + 1ul, sizeof *shared);
	uint32_t *next = calloc(r->stacks.n + 1ul, sizeof *next); // rows of one node, + 1
	check(of && shared && next);
	for (uint32_t i = 0; i < r->stacks.n; i++) {
		next[i] = shared[r->stacks.items[i].node];
		shared[r->stacks.items[i].node] = i + 1;
	}
	for (size_t i = 0; i < w->replay->blocks.n; i++) {
		const struct replay_block *b = &w->replay->blocks.items[i];
		uint32_t any = 0;
		of[i] = UINT32_MAX;
		for (uint32_t at = shared[b->node]; at && of[i] == UINT32_MAX; at = next[at - 1]) {
			uint32_t thread = r->stacks.items[at - 1].thread;
			of[i] = thread == b->thread ? at - 1 : UINT32_MAX;
			any = thread == 0 ? at : any;
		}
		of[i] = of[i] == UINT32_MAX ? any - 1 : of[i];
		check(of[i] < r->stacks.n);
	}
	free(next);
	free(shared);
	return of;
}

int main(int argc, char **argv) {
	if (argc < 2) {
		(void)fprintf(stderr, "usage: replay_lenses FILE [LENSES [SEED]]\n");
		return 2;
	}
	unsigned long n = argc > 2 ? strtoul(argv[2], NULL, 10) : 200;
	struct err err = {0};
	struct recording r = {0};
	struct replay *replay = replay_create(64);
	bool ok = replay_file(argv[1], replay, &r, &err);
	struct world w = {.replay = replay, .r = &r};
	w.random = (argc > 3 ? strtoull(argv[3], NULL, 10) : 1) * 0x9e3779b97f4a7c15 + 1;
	struct names *names = ok ? names_create(&r, NULL) : NULL;
	if (names && r.stacks.n) {
		w.names = names;
		w.stack_of = find_stacks(&w);
		for (unsigned long i = 0; ok && i < n; i++) {
			ok = lens_agrees(&w, &err) || err_add(&err, "lens %lu", i);
		}
	}
	ok = ok && names;
	if (ok) {
		printf("%s: %lu lenses, %zu blocks, %" PRIu32 " stacks, %" PRIu32 " edges: all agree\n",
				argv[1], n, replay->blocks.n, r.stacks.n, r.edges.n);
	} else {
		(void)fprintf(stderr, "%s: %s\n", argv[1], err.text);
	}
	free(w.stack_of);
	names_destroy(names);
	recording_finish(&r);
	replay_destroy(replay);
	return ok ? 0 : 1;
}
