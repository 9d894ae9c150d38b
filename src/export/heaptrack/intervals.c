// SPDX-License-Identifier: MIT
/*
 * Makes up a stream of events from intervals in which every figure agrees. Step k is what happened
 * between edges k - 1 and k; its real order is not known, but this one keeps all promises:
 *
 *   1. blocks that edge k no longer sees go: the heap becomes as small as possible
 *   2. blocks that no edge saw come and go, one by one: each existed besides what is left now,
 *      so the heap is not larger than it was then, and never above the peak
 *   3. blocks that edge k sees come
 *
 * A block is temporary if its `-` directly follows its `+` and has the same number. Where that must
 * not happen, one of the two uses a twin: another number for the same size and stack. A number must
 * first occur in a `+` (KDE's GUI relies on it), so the first block of a kind has no twin to go by:
 * it waits for one more event before it goes. A temporary block that an edge saw comes last in its
 * step and goes first after it. What is impossible in its place is owed to the stack, and made up
 * for by a later block of it in 2.
 *
 * Number 0 is special: its free after another free counts as temporary. It goes to a block that is
 * never freed, if there is one at the start.
 *
 * Only the sum of an interval's sizes is known: they are spread evenly.
 */
#include "export/heaptrack/records.h"

struct kind {
	uint32_t node, stack;
	uint64_t size;
};

struct steps {
	struct kde_out *o;
	uint32_t n_steps;             // edges + 1
	uint32_t *by_from;            // intervals, by `from`
	uint32_t *by_until;           // those that end, by `until`
	uint32_t *from_at, *until_at; // by step: where its intervals begin; one more at the end
	int64_t *owed;                // by stack: temporary blocks to be counted more, or less
	uint64_t *next_ptr;           // raw files, by interval: address of its next block to go
	uint64_t ptr;                 // of the next new block
	uint64_t live;                // bytes
	uint32_t last;                // the number of the last `+`, if nothing followed it
	uint32_t crossing;            // the temporary block that came last in the previous step
	bool is_crossing_gone;
	bool has_waiting;    // a block goes after the next event
	struct kind waiting; // that block's kind
	uint32_t first;      // the interval whose first block came before all others
};

static struct rec_interval interval(const struct steps *s, uint32_t i) {
	return recording_interval(s->o->r, i);
}

/** The first `count - rest` blocks of an interval have one size, the others a byte more. */
static struct kind kind_of(const struct steps *s, const struct rec_interval *v, uint64_t i) {
	uint64_t rest = v->bytes % v->count;
	return (struct kind){
			.node = s->o->r->stacks.items[v->stack].node,
			.stack = v->stack,
			.size = v->bytes / v->count + (i >= v->count - rest),
	};
}

// ---- blocks of interpreted files

static void emit_free(struct steps *s, const struct kind *k, uint32_t number) {
	kde_out_block(s->o, '-', number);
	s->live -= k->size;
	s->last = KDE_OUT_NO_INFO;
}

/** A number by which a block can go without being temporary, or KDE_OUT_NO_INFO. */
static uint32_t other_number(struct steps *s, const struct kind *k) {
	uint32_t own = kde_out_find(s->o, k->node, k->size, false);
	uint32_t twin = kde_out_find(s->o, k->node, k->size, true);
	bool is_own_wrong = own == s->last || (own == KDE_OUT_FIRST && s->last == KDE_OUT_NO_INFO);
	return own && !is_own_wrong ? own : twin == s->last ? KDE_OUT_NO_INFO : twin;
}

static void end_waiting(struct steps *s) {
	if (s->has_waiting) {
		s->has_waiting = false;
		uint32_t number = other_number(s, &s->waiting);
		s->owed[s->waiting.stack] -= number == KDE_OUT_NO_INFO;
		number = number ? number : kde_out_find(s->o, s->waiting.node, s->waiting.size, false);
		emit_free(s, &s->waiting, number);
	}
}

/** A waiting block goes after this one, if both fit below the peak; but not between a pair. */
static void emit_alloc(struct steps *s, const struct kind *k, bool as_twin, bool is_pair) {
	bool fits = s->live + k->size < s->o->r->summary.peak_bytes;
	if (s->has_waiting && !fits) {
		end_waiting(s);
	}
	s->last = kde_out_info(s->o, k->node, k->size, as_twin);
	kde_out_block(s->o, '+', s->last);
	s->live += k->size;
	if (!is_pair) {
		end_waiting(s);
	}
}

static void put_free(struct steps *s, const struct kind *k, bool is_temporary) {
	uint32_t number = is_temporary && s->last ? s->last : other_number(s, k);
	if (number == KDE_OUT_NO_INFO && !s->has_waiting) {
		s->waiting = *k;
		s->has_waiting = true;
		return;
	}
	if (number == KDE_OUT_NO_INFO) {
		s->owed[k->stack]--; // counts as temporary for lack of a twin
		number = kde_out_find(s->o, k->node, k->size, false);
	}
	emit_free(s, k, number);
	end_waiting(s);
}

/** Number 0 is for a single block: others of its kind use its twin. */
static bool is_first_kind(const struct steps *s, const struct kind *k) {
	return kde_out_find(s->o, k->node, k->size, false) == KDE_OUT_FIRST;
}

static bool is_known_kind(const struct steps *s, const struct kind *k) {
	return kde_out_find(s->o, k->node, k->size, false) != KDE_OUT_NO_INFO;
}

// ---- blocks of both kinds of files

/** Blocks that no edge saw. */
static void put_unseen(struct steps *s, const struct rec_interval *v) {
	int64_t *owed = &s->owed[v->stack];
	int64_t temporary = v->temporary + *owed;
	temporary = temporary < 0 ? 0 : temporary > (int64_t)v->count ? (int64_t)v->count : temporary;
	*owed -= temporary - v->temporary;
	for (uint64_t i = 0; i < v->count && !s->o->failed; i++) {
		struct kind k = kind_of(s, v, i);
		if (s->o->is_raw) {
			s->ptr += 16;
			kde_out_raw_alloc(s->o, k.size, k.node, s->ptr);
			kde_out_raw_free(s->o, s->ptr);
		} else if ((int64_t)i < temporary) {
			emit_alloc(s, &k, is_first_kind(s, &k), true);
			put_free(s, &k, true);
		} else {
			// A block that comes and goes without being temporary
			emit_alloc(s, &k, is_known_kind(s, &k), false);
			put_free(s, &k, false); // at once if there are two numbers, else it waits
		}
	}
}

/** A temporary block that comes in one step and goes in another. */
static uint32_t find_crossing(const struct steps *s, uint32_t came, uint32_t goes) {
	for (uint32_t at = s->until_at[goes]; at < s->until_at[goes + 1]; at++) {
		const struct rec_interval v = interval(s, s->by_until[at]);
		if (v.temporary && v.from != v.until && v.from == came) {
			return s->by_until[at];
		}
	}
	return INDEX_NONE;
}

/**
 * The block that comes last in a step, to go first afterwards. If only frees follow, it may go a
 * few edges early: none of those can be the peak.
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

/** Blocks of an interval go in reverse order. */
static void put_one_gone(struct steps *s, uint32_t i, uint64_t nth, bool is_temporary) {
	const struct rec_interval v = interval(s, i);
	struct kind k = kind_of(s, &v, v.count - 1 - nth);
	if (s->o->is_raw) {
		kde_out_raw_free(s->o, s->next_ptr[i]);
		s->next_ptr[i] -= 16;
	} else {
		put_free(s, &k, is_temporary);
	}
}

static void put_gone(struct steps *s, uint32_t step) {
	uint32_t crossing = s->crossing;
	if (crossing != INDEX_NONE && !s->is_crossing_gone) {
		put_one_gone(s, crossing, 0, true);
		s->is_crossing_gone = true;
	}
	for (uint32_t at = s->until_at[step]; at < s->until_at[step + 1]; at++) {
		uint32_t i = s->by_until[at];
		const struct rec_interval v = interval(s, i);
		if (v.from == v.until) {
			continue;
		}
		bool is_first = i == crossing;
		s->owed[v.stack] += v.temporary - (is_first && v.temporary);
		for (uint64_t nth = is_first; nth < v.count && !s->o->failed; nth++) {
			put_one_gone(s, i, nth, false);
		}
	}
}

/** is_crossing: the last of them goes before anything else happens. */
static void put_one_come(struct steps *s, uint32_t i, bool is_crossing) {
	const struct rec_interval v = interval(s, i);
	for (uint64_t k = i == s->first; k < v.count && !s->o->failed; k++) {
		struct kind kind = kind_of(s, &v, k);
		if (s->o->is_raw) {
			s->ptr += 16;
			kde_out_raw_alloc(s->o, kind.size, kind.node, s->ptr);
		} else {
			// By its twin: what goes next is most likely of its kind
			bool is_last = k + 1 == v.count;
			bool as_twin = is_last ? is_known_kind(s, &kind) : is_first_kind(s, &kind);
			emit_alloc(s, &kind, as_twin, is_crossing && is_last);
		}
	}
	if (s->next_ptr) {
		s->next_ptr[i] = s->ptr;
	}
}

/** Blocks that the edge sees; last the one that goes first in the next step. */
static void put_come(struct steps *s, uint32_t step) {
	uint32_t last = s->crossing;
	if (s->from_at[step] < s->from_at[step + 1]) {
		last = s->crossing = choose_crossing(s, step);
		s->is_crossing_gone = false;
	}
	for (uint32_t at = s->from_at[step]; at < s->from_at[step + 1]; at++) {
		uint32_t i = s->by_from[at];
		if (i != last && interval(s, i).from != interval(s, i).until) {
			put_one_come(s, i, false);
		}
	}
	if (last != INDEX_NONE && interval(s, last).from == step) {
		put_one_come(s, last, true);
	}
}

static void put_step(struct steps *s, uint32_t step) {
	const struct recording *r = s->o->r;
	put_gone(s, step);
	for (uint32_t at = s->from_at[step]; at < s->from_at[step + 1]; at++) {
		const struct rec_interval v = interval(s, s->by_from[at]);
		if (v.from == v.until) {
			put_unseen(s, &v);
		}
	}
	if (step < r->edges.n) {
		kde_out_time(s->o, r->edges.items[step].time_ns);
	}
	put_come(s, step);
}

/** A never freed block takes number 0. */
static void put_first(struct steps *s) {
	const struct recording *r = s->o->r;
	bool is_peak = r->edges.n && r->edges.items[0].bytes == r->summary.peak_bytes;
	for (uint32_t at = s->from_at[0]; at < s->from_at[1] && !is_peak && !s->o->is_raw; at++) {
		const struct rec_interval v = interval(s, s->by_from[at]);
		if (v.until == REC_NEVER) {
			struct kind k = kind_of(s, &v, 0);
			emit_alloc(s, &k, false, false);
			s->first = s->by_from[at];
			return;
		}
	}
}

/** The step in which an interval begins or ends; n_steps if it has no blocks, or never ends. */
static uint32_t step_of(const struct steps *s, uint32_t i, bool by_until) {
	const struct rec_interval v = interval(s, i);
	const uint32_t step = by_until ? v.until : v.from;
	return v.count && step < s->n_steps ? step : s->n_steps;
}

static void put_steps(struct steps *s) {
	const struct recording *r = s->o->r;
	GROUP_BY(s->by_from, s->from_at, s->n_steps + 1, i, r->intervals.n, step_of(s, i, false));
	GROUP_BY(s->by_until, s->until_at, s->n_steps + 1, i, r->intervals.n, step_of(s, i, true));
	put_first(s);
	for (uint32_t step = 0; step < s->n_steps && !s->o->failed; step++) {
		put_step(s, step);
	}
	end_waiting(s);
}

void kde_out_intervals(struct kde_out *o) {
	const struct recording *r = o->r;
	SCOPED(arena) arena = {0};
	struct steps s = {
			.o = o,
			.n_steps = r->edges.n + 1,
			.crossing = INDEX_NONE,
			.first = INDEX_NONE,
	};
	s.by_from = arena_new(&arena, uint32_t, r->intervals.n);
	s.by_until = arena_new(&arena, uint32_t, r->intervals.n);
	s.from_at = arena_new(&arena, uint32_t, s.n_steps + 3ul);
	s.until_at = arena_new(&arena, uint32_t, s.n_steps + 3ul);
	s.owed = arena_new(&arena, int64_t, r->stacks.n);
	s.next_ptr = o->is_raw ? arena_new(&arena, uint64_t, r->intervals.n) : NULL;
	put_steps(&s);
}
