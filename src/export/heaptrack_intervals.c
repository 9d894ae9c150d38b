// SPDX-License-Identifier: MIT
#include "export/heaptrack_parts.h"

#include <stdlib.h>

/*
 * A stream of events made up from intervals, in which every figure agrees. Step k is what happened
 * between edges k - 1 and k; what order it had is not known, and this one keeps all promises:
 *
 *   1. blocks that edge k does not see any more go: the heap is as small as it can be
 *   2. blocks that no edge saw come and go, one by one: each was there beside what is left now,
 *      so the heap is not larger than it was then, and never above the peak
 *   3. blocks that edge k sees come
 *
 * A temporary block is one whose `-` stands right behind its `+` and names the same number. Where
 * that must not be so, the `-` names a twin: another number for the same size and stack. A temporary
 * block that an edge saw is the last to come in its step and the first to go after it. Those that
 * cannot be that (several threads had one at that edge) are made up for by a later block of the same
 * stack in 2.
 *
 * Sizes of an interval are known by their sum alone: they are spread evenly.
 */

struct steps {
	struct kde_out *o;
	uint32_t n_steps;             // edges and one more
	uint32_t *by_from;            // intervals, in the order of `from`
	uint32_t *by_until;           // those that end, in the order of `until`
	uint32_t *from_at, *until_at; // step -> where its intervals begin; one more at the end
	uint64_t *owed;               // stack -> temporary blocks that were not counted yet
	uint64_t *next_ptr;           // raw files: interval -> address of its next block to go
	uint64_t ptr;                 // and of the next new block
	uint32_t last;                // the number that the last `+` named, if nothing came behind it
	uint32_t crossing;            // the temporary block that came last in the last step
	bool is_crossing_gone;
};

static const struct rec_interval *interval(const struct steps *s, uint32_t i) {
	return &s->o->r->intervals.items[i];
}

/** The first `count - rest` blocks have `size`, the others one byte more. */
static uint64_t size_of(const struct rec_interval *v, uint64_t i) {
	uint64_t rest = v->bytes % v->count;
	return v->bytes / v->count + (i >= v->count - rest);
}

static uint32_t node_of(const struct steps *s, const struct rec_interval *v) {
	return s->o->r->stacks.items[v->stack].node;
}

static void put_alloc(struct steps *s, const struct rec_interval *v, uint64_t i, uint64_t ptr) {
	struct kde_out *o = s->o;
	if (o->is_raw) {
		uint64_t numbers[3] = {size_of(v, i), kde_out_trace(o, node_of(s, v)), ptr};
		kde_out_line(o, '+', (struct slice){0}, numbers, 3);
		return;
	}
	s->last = kde_out_info(o, node_of(s, v), size_of(v, i), false);
	kde_out_block(o, '+', s->last);
}

static void put_free(struct steps *s, const struct rec_interval *v, uint64_t i, uint64_t ptr,
		bool is_temporary) {
	struct kde_out *o = s->o;
	if (o->is_raw) {
		kde_out_line(o, '-', (struct slice){0}, &ptr, 1);
		return;
	}
	uint32_t info = kde_out_info(o, node_of(s, v), size_of(v, i), false);
	if (!is_temporary && info == s->last) {
		info = kde_out_info(o, node_of(s, v), size_of(v, i), true);
	}
	kde_out_block(o, '-', info);
	s->last = KDE_OUT_NO_INFO;
}

/** Blocks that no edge saw. */
static void put_unseen(struct steps *s, const struct rec_interval *v) {
	uint64_t *owed = &s->owed[v->stack];
	uint64_t temporary = v->temporary;
	uint64_t more = v->count - temporary;
	more = more < *owed ? more : *owed;
	*owed -= more;
	temporary += more;
	for (uint64_t i = 0; i < v->count && !s->o->failed; i++) {
		s->ptr += 16;
		put_alloc(s, v, i, s->ptr);
		put_free(s, v, i, s->ptr, i < temporary);
	}
}

/** Is there a temporary block among those that come (or go) at an edge? */
static bool crosses(const struct rec_interval *v) {
	return v->temporary && v->from != v->until;
}

/** The block of an interval that goes first was the last one to come. */
static void put_one_gone(struct steps *s, uint32_t i, uint64_t nth, bool is_temporary) {
	const struct rec_interval *v = interval(s, i);
	uint64_t ptr = s->next_ptr ? s->next_ptr[i] : 0;
	put_free(s, v, v->count - 1 - nth, ptr, is_temporary);
	if (s->next_ptr) {
		s->next_ptr[i] -= 16;
	}
}

static bool is_idle(const struct steps *s, uint32_t step) {
	return s->from_at[step] == s->from_at[step + 1] && s->until_at[step] == s->until_at[step + 1];
}

/** A temporary block that comes in one step and goes in another. */
static uint32_t find_crossing(const struct steps *s, uint32_t came, uint32_t goes) {
	for (uint32_t at = s->until_at[goes]; at < s->until_at[goes + 1]; at++) {
		const struct rec_interval *v = interval(s, s->by_until[at]);
		if (crosses(v) && v->from == came) {
			return s->by_until[at];
		}
	}
	return INDEX_NONE;
}

/**
 * The block that comes last in a step, to go first thereafter. Where nothing but frees lies between
 * it may go a few edges early: none of those can be the peak.
 */
static uint32_t choose_crossing(const struct steps *s, uint32_t step) {
	for (uint32_t next = step + 1; next < s->n_steps; next++) {
		uint32_t found = find_crossing(s, step, next);
		if (found != INDEX_NONE || s->from_at[next] != s->from_at[next + 1]) {
			return found;
		}
	}
	return INDEX_NONE;
}

static void put_gone(struct steps *s, uint32_t step) {
	uint32_t crossing = s->crossing;
	if (crossing != INDEX_NONE && !s->is_crossing_gone) {
		put_one_gone(s, crossing, 0, true);
		s->is_crossing_gone = true;
	}
	for (uint32_t at = s->until_at[step]; at < s->until_at[step + 1]; at++) {
		uint32_t i = s->by_until[at];
		const struct rec_interval *v = interval(s, i);
		if (v->from == v->until) {
			continue;
		}
		bool is_first = i == crossing;
		s->owed[v->stack] += v->temporary - (is_first && v->temporary);
		for (uint64_t nth = is_first; nth < v->count && !s->o->failed; nth++) {
			put_one_gone(s, i, nth, false);
		}
	}
}

static void put_one_come(struct steps *s, uint32_t i) {
	const struct rec_interval *v = interval(s, i);
	for (uint64_t k = 0; k < v->count && !s->o->failed; k++) {
		s->ptr += 16;
		put_alloc(s, v, k, s->ptr);
	}
	if (s->next_ptr) {
		s->next_ptr[i] = s->ptr;
	}
}

/** Blocks that the edge sees; last the one that is the first to go in the next step. */
static void put_come(struct steps *s, uint32_t step) {
	uint32_t last = s->crossing;
	if (s->from_at[step] < s->from_at[step + 1]) {
		last = s->crossing = choose_crossing(s, step);
		s->is_crossing_gone = false;
	}
	for (uint32_t at = s->from_at[step]; at < s->from_at[step + 1]; at++) {
		uint32_t i = s->by_from[at];
		if (i != last && interval(s, i)->from != interval(s, i)->until) {
			put_one_come(s, i);
		}
	}
	if (last != INDEX_NONE && interval(s, last)->from == step) {
		put_one_come(s, last);
	}
}

static void put_step(struct steps *s, uint32_t step) {
	if (is_idle(s, step)) {
		return;
	}
	const struct recording *r = s->o->r;
	put_gone(s, step);
	for (uint32_t at = s->from_at[step]; at < s->from_at[step + 1]; at++) {
		const struct rec_interval *v = interval(s, s->by_from[at]);
		if (v->from == v->until) {
			put_unseen(s, v);
		}
	}
	if (step < r->edges.n) {
		kde_out_time(s->o, r->edges.items[step].time_ns);
	}
	put_come(s, step);
}

/** Intervals in the order of a step, by counting. */
static void sort(const struct recording *r, bool by_until, uint32_t *at, uint32_t n_steps,
		uint32_t *order) {
	for (int pass = 0; pass < 2; pass++) {
		for (uint32_t i = 0; i < r->intervals.n; i++) {
			const struct rec_interval *v = &r->intervals.items[i];
			uint32_t step = by_until ? v->until : v->from;
			if (step < n_steps && v->count) {
				if (pass == 0) {
					at[step + 1]++;
				} else {
					order[at[step]++] = i;
				}
			}
		}
		for (uint32_t i = n_steps; pass == 1 && i > 0; i--) {
			at[i] = at[i - 1];
		}
		for (uint32_t i = 0; pass == 0 && i < n_steps; i++) {
			at[i + 1] += at[i];
		}
		at[0] = 0;
	}
}

void kde_out_intervals(struct kde_out *o) {
	const struct recording *r = o->r;
	struct arena arena = {0};
	struct steps s = {.o = o, .n_steps = r->edges.n + 1, .crossing = INDEX_NONE};
	s.by_from = arena_new(&arena, uint32_t, r->intervals.n);
	s.by_until = arena_new(&arena, uint32_t, r->intervals.n);
	s.from_at = arena_new(&arena, uint32_t, (size_t)s.n_steps + 1);
	s.until_at = arena_new(&arena, uint32_t, (size_t)s.n_steps + 1);
	s.owed = arena_new(&arena, uint64_t, r->stacks.n);
	s.next_ptr = o->is_raw ? arena_new(&arena, uint64_t, r->intervals.n) : NULL;
	if (s.by_from && s.by_until && s.from_at && s.until_at && s.owed &&
			(s.next_ptr || !o->is_raw)) {
		sort(r, false, s.from_at, s.n_steps, s.by_from);
		sort(r, true, s.until_at, s.n_steps, s.by_until);
		for (uint32_t step = 0; step < s.n_steps && !o->failed; step++) {
			put_step(&s, step);
		}
	} else if (!o->failed) {
		o->failed = true;
		(void)err_memory(&o->err);
	}
	arena_finish(&arena);
}
