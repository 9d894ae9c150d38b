// SPDX-License-Identifier: MIT
/*
 * Finds the roots that reach most of what several of them hold together.
 *
 *   root A ──► its blocks ──┐
 *                           ├──► block that neither dominates ──► all that this one dominates
 *   root B ──► its blocks ──┘
 *
 * Following all edges from each root would take long. So roots are first scored by what their own
 * blocks lead to directly, and only the best are followed.
 */
#include "engine/graph/parts.h"

enum { CANDIDATES = 4 };

struct sharing {
	const struct flow *g;
	const struct dominators *d;
	const struct live_blocks *blocks;
	uint32_t first_block; // its vertex
	uint32_t *tops;       // by vertex: its dominator directly below the start, or itself
	uint64_t *scores;     // by top: bytes of its blocks; by root: of the tops it leads to
};

/** A vertex's bytes, if several roots hold it. */
static uint64_t shared_bytes(const struct sharing *s, uint32_t v) {
	return s->tops[v] >= s->first_block ? s->blocks->items[v - s->first_block].bytes : 0;
}

/** What a root dominates is contiguous in the order of the walk, so each top is seen once. */
static void score_roots(struct sharing *s, uint32_t *seen) {
	const struct flow *g = s->g;
	for (uint32_t i = 1; i < s->d->n; i++) {
		const uint32_t v = s->d->vertices[i], above = s->d->above[i];
		s->tops[v] = above && v >= s->first_block ? s->tops[s->d->vertices[above]] : v;
		s->scores[s->tops[v]] += shared_bytes(s, v);
	}
	for (uint32_t i = 1; i < s->d->n; i++) {
		const uint32_t v = s->d->vertices[i], root = s->tops[v];
		for (size_t e = g->first[v]; root < s->first_block && e < g->first[v + 1]; e++) {
			const uint32_t to = g->to[e];
			bool is_new = s->tops[to] == to && to >= s->first_block && seen[to] != root;
			s->scores[root] += is_new ? s->scores[to] : 0;
			seen[to] = root;
		}
	}
}

void sharers_find(struct flow *g, const struct dominators *d, const struct live_blocks *blocks,
		uint32_t out[static GRAPH_SHARERS]) {
	const uint32_t first_block = g->n - (uint32_t)blocks->n;
	FREED uint32_t *numbers = memory_new(g->n, 2 * sizeof *numbers);
	FREED uint64_t *scores = memory_new(g->n, sizeof *scores);
	struct sharing s = {g, d, blocks, first_block, numbers, scores};
	for (uint32_t v = 1; v < first_block; v++) {
		for (size_t e = g->first[v]; e < g->first[v + 1]; e++) {
			g->to[e] = g->to[e] < first_block ? v : g->to[e];
		}
	}
	score_roots(&s, numbers + g->n);
	const uint64_t all = SUM(v, blocks->n, scores[first_block + v]);
	for (int i = 0, n = 0; i < CANDIDATES && n < GRAPH_SHARERS; i++) {
		uint64_t *best = MOST_OF(score, scores + 1, first_block - 1ul, *score);
		if (!best) {
			return;
		}
		FREED bool *is_reached = flow_reach(g, (uint32_t)(best - scores));
		if (SUM(v, g->n, is_reached[v] ? shared_bytes(&s, v) : 0) >= all - all / 2) {
			out[n++] = (uint32_t)(best - scores);
		}
		*best = 0;
	}
}
