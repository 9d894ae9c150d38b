// SPDX-License-Identifier: MIT
/*
 * Says how much the heap and the site that grew most did from halfway to near the end, if no other
 * rule reports as much: every reader asks whether anything grows.
 */
#include "engine/findings/parts.h"

/** The last edge until `ns`; if the heap was as large before, the lowest one within `reach_ns`. */
static uint32_t edge_at(const struct recording *r, uint64_t ns, uint64_t reach_ns) {
	const struct rec_edge *edges = r->edges.items;
	const size_t behind = sorted_first_of(edges, r->edges.n, sizeof *edges, ns + 1);
	uint32_t last = behind ? (uint32_t)behind - 1 : 0, first = 0;
	while (edges[first].bytes < edges[last].bytes) {
		first++;
	}
	uint32_t at = last;
	for (uint32_t i = last; i > first && edges[i].time_ns + reach_ns >= ns; i--) {
		at = edges[i].bytes < edges[at].bytes ? i : at;
	}
	return at;
}

static uint64_t heap_at(const struct recording *r, uint32_t edge) {
	return edge < r->edges.n ? r->edges.items[edge].bytes
							 : r->summary.live_bytes - r->summary.left_bytes +
					SUM(i, r->suppressed.n,
							r->suppressed.items[i].bytes - r->suppressed.items[i].left_bytes);
}

/** Does it hold more at the second edge, but no more than before the first: come and go? */
static bool only_rises_again(const struct recording *r, const struct window *w) {
	const uint64_t after = heap_at(r, w->to);
	return after > heap_at(r, w->from) && ANY(i, w->from, heap_at(r, i) >= after);
}

/**
 * From the last edge of the run's first half (or the first with all of the runtime's start-up) to
 * the last one before its last twentieth, in which programs free what they have, or if that is soon
 * to the end. If the heap comes and goes, from its smallest within a fifth of the run, or 7/20.
 */
static bool find_window(const struct finder *f, struct window *out) {
	const struct recording *r = f->r;
	const struct rec_edge *edges = r->edges.items;
	uint64_t run = r->meta.duration_ns;
	if (r->edges.n == 0 || edges[0].time_ns > run / 2) {
		return false;
	}
	const uint64_t reach_ns[] = {run / 5, run / 20 * 7};
	for (size_t i = 0; i == 0 || (i < N_OF(reach_ns) && only_rises_again(r, out)); i++) {
		out->from = edge_at(r, run / 2, reach_ns[i]);
		out->to = edge_at(r, run - run / 20, reach_ns[i]);
	}
	const uint64_t begin_ns = f->start_up ? f->start_up->last_ns : 0;
	while (out->from + 1 < r->edges.n && edges[out->from].time_ns < begin_ns) {
		out->from++;
	}
	if (out->to < out->from || edges[out->to].time_ns < edges[out->from].time_ns + run / 10) {
		out->to = r->edges.n;
	}
	return true;
}

int64_t *growth_of_stacks(struct finder *f, const struct window *w) {
	const struct recording *r = f->r;
	int64_t *grown = FINDER_NEW(f, int64_t, r->stacks.n);
	bool is_to_end = w->to == r->edges.n;
	for (uint32_t i = 0; is_to_end && i < r->stacks.n; i++) {
		grown[i] = (int64_t)(r->stacks.items[i].live_bytes - r->stacks.items[i].left_bytes);
	}
	EACH(s, r->suppressed) {
		grown[s->stack] += is_to_end ? (int64_t)(s->bytes - s->left_bytes) : 0;
	}
	for (uint32_t i = 0; i < r->intervals.n; i++) {
		const struct rec_interval v = rec_interval_of(&r->intervals.items[i], r->wide.items);
		const bool was_there = v.from <= w->from && w->from < v.until;
		grown[v.stack] += is_to_end ? was_there ? -(int64_t)v.bytes : 0 : window_change(w, &v);
	}
	return grown;
}

int64_t *growth_of_places(struct finder *f, const int64_t *of_stacks) {
	int64_t *grown = FINDER_NEW(f, int64_t, f->n_places);
	for (uint32_t i = 0; i < f->r->stacks.n; i++) {
		grown[f->place_of[i]] += of_stacks[i];
	}
	return grown;
}

static bool held_before(struct finder *f, uint32_t place, const struct window *w) {
	uint32_t n = f->r->edges.n;
	int64_t *held = FINDER_NEW(f, int64_t, n);
	for (uint32_t i = 0; i < f->r->intervals.n; i++) {
		const struct rec_interval v = rec_interval_of(&f->r->intervals.items[i], f->r->wide.items);
		if (f->place_of[v.stack] == place) {
			held[v.from < n ? v.from : n] += (int64_t)v.bytes;
			held[v.until < n ? v.until : n] -= (int64_t)v.bytes;
		}
	}
	int64_t most = 0, last = (int64_t)f->places[place].end_bytes;
	for (uint32_t i = 1; i < n; i++) {
		most = i <= w->from && held[i - 1] > most ? held[i - 1] : most;
		held[i] += held[i - 1];
		last = i == w->to ? held[i] : last;
	}
	return most >= last;
}

/** Does a finding report that site's growth, or as much of another's; or any, if this is little? */
static bool is_growth_told(struct finder *f, uint32_t most, const struct window *w,
		uint64_t bytes) {
	bool is_much = most < f->n_places && bytes >= MIN_GROWN_BYTES &&
			bytes >= f->r->summary.peak_bytes / 100 && !held_before(f, most, w) &&
			!finder_has_said(f, "bursts", f->places[most].name);
	return ANY(i, f->found.n,
			finding_number(&f->found.items[i], "grown_bytes") >=
					(is_much && f->found.items[i].function != f->places[most].name ? bytes : 1));
}

/** Keep, for addresses, the stacks that grew, counting all of their threads together. */
static void keep_what_grew(struct finder *f, int64_t *grown) {
	const struct rec_stack *stacks = f->r->stacks.items;
	int64_t *of_nodes = FINDER_NEW(f, int64_t, f->r->nodes.n);
	for (uint32_t i = 0; i < f->r->stacks.n; i++) {
		of_nodes[stacks[i].node] += grown[i];
	}
	for (uint32_t i = 0; i < f->r->stacks.n; i++) {
		int64_t *of_node = &of_nodes[stacks[i].node];
		grown[i] = *of_node > 0 ? *of_node : 0;
		*of_node = 0;
	}
}

/** "; parse() app.cpp:3 grew most, by 12.0 kB", and what it held at the end if that is much. */
static void put_site(struct finder *f, const struct place *p, const struct window *w,
		uint64_t bytes) {
	SAY(f, "; %s", name_words(f, p->name));
	keep_what_grew(f, w->grown);
	put_addresses(f, p, (const uint64_t *)w->grown, "");
	SAY(f, " grew most, by %s", HUMAN_BYTES(bytes));
	if (bytes >= f->r->summary.peak_bytes / 10) {
		SAY(f, held_before(f, (uint32_t)(p - f->places), w) ? ", to what it held before" : "");
		const char *left = p->live_bytes ? HUMAN_BYTES(p->live_bytes) : "nothing"; // never freed
		SAY(f, "%s", p->left_bytes ? "" : FORMAT(64, ", and held %s at the end", left));
	}
}

/** "the heap grew by 14.0 kB (0.1 % of the peak)", without what was freed from before an attach. */
static void say_most(struct finder *f, const struct window *w, const struct place *p,
		uint64_t bytes) {
	const struct recording *r = f->r;
	uint64_t before = heap_at(r, w->from), after = heap_at(r, w->to);
	bool is_most = r->summary.old_freed_bytes > 0 || finder_unknown_frees(f) > 0;
	bool is_growth = bytes > 0 && after > before && !only_rises_again(r, w);
	bool is_little = !is_growth && bytes < r->summary.peak_bytes / 1000;
	if (is_growth) {
		SAY(f, " the heap grew by %s%s (%s of the peak)", is_most ? "at most " : "",
				HUMAN_BYTES(after - before), HUMAN_PERCENT(after - before, r->summary.peak_bytes));
		finder_put(f, "heap_grown_bytes", after - before);
	} else {
		SAY(f, "%s",
				bytes == 0 ? finder_misses_allocator(f) ? " nothing that was recorded grew"
														: " nothing grew"
						: after > before ? " the heap rose to no more than it held before"
						: is_little
						? " the heap did not grow, nor did any function by 0.1 % of the peak"
						: " the heap as a whole did not grow");
	}
	if (is_little && before > after + r->summary.peak_bytes / 10) {
		SAY(f, "; the heap fell by %s", HUMAN_BYTES(before - after));
	}
	if (p && !is_little) {
		finder_about(f, p->name, NULL);
		put_site(f, p, w, bytes);
	}
	put_freed_before(f);
}

void find_no_growth(struct finder *f) {
	const struct recording *r = f->r;
	struct window w;
	if (!find_window(f, &w)) {
		return;
	}
	w.grown = growth_of_stacks(f, &w);
	const int64_t *grown = growth_of_places(f, w.grown);
	const int64_t *largest = MOST_OF(g, grown, f->n_places + 1, *g > 0 ? (uint64_t)*g : 0);
	const uint32_t most = largest ? (uint32_t)(largest - grown) : f->n_places;
	const uint64_t bytes = largest ? (uint64_t)*largest : 0;
	if (is_growth_told(f, most, &w, bytes)) {
		return;
	}
	uint64_t from_ns = r->edges.items[w.from].time_ns;
	uint64_t to_ns = w.to < r->edges.n ? r->edges.items[w.to].time_ns : r->meta.duration_ns;
	SAY(f, "from %s to %s", HUMAN_DURATION(from_ns), HUMAN_DURATION(to_ns));
	say_most(f, &w, most < f->n_places ? &f->places[most] : NULL, bytes);
	finder_put(f, "grown_bytes", bytes);
	FINDER_PUT_VALUES(f, from_ns, to_ns);
	finder_say(f, FINDING_FACT, millionths(bytes, r->summary.peak_bytes));
}
