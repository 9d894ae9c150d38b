// SPDX-License-Identifier: MIT
/*
 * Finds the roots that reach most of what several of them hold together.
 *
 *   root A ──► its blocks ──┐
 *                           ├──► block that neither dominates ──► all that this one dominates
 *   root B ──► its blocks ──┘
 *
 * To follow all edges from each root would take long. So roots count first for what their own
 * blocks lead to directly, and only those with most of it are followed.
 */
#include "engine/graph/parts.h"

enum { CANDIDATES = 4 };

struct sharing {
	const struct flow *g;
	const struct live_blocks *blocks;
	uint32_t first_block;
	uint32_t *tops;   // by vertex: the one below the start that dominates it, or that it is
	uint32_t *seen;   // by top: the last root that was seen to lead to it
	uint64_t *scores; // by top: bytes of its blocks; by root: of tops that it leads to
};

static uint64_t bytes_of(const struct sharing *s, uint32_t vertex) {
	return s->blocks->items[vertex - s->first_block].bytes;
}

static void find_tops(struct sharing *s, const struct dominators *d) {
	for (uint32_t i = 1; i < d->n; i++) {
		const uint32_t v = d->vertices[i], above = d->above[i];
		s->tops[v] = above ? s->tops[d->vertices[above]] : v;
		if (s->tops[v] >= s->first_block) {
			s->scores[s->tops[v]] += bytes_of(s, v);
		}
	}
}

static void score_roots(struct sharing *s) {
	const struct flow *g = s->g;
	for (uint32_t v = 1; v < g->n; v++) {
		const uint32_t root = s->tops[v];
		for (size_t e = g->first[v]; root > 0 && root < s->first_block && e < g->first[v + 1];
				e++) {
			const uint32_t to = g->to[e];
			if (s->tops[to] == to && to >= s->first_block && s->seen[to] != root) {
				s->seen[to] = root;
				s->scores[root] += s->scores[to];
			}
		}
	}
}

struct sharer {
	uint64_t bytes; // that it reaches, of what several hold
	uint32_t root;
};

ORDER_OF(by_bytes, struct sharer, HIGHEST(bytes) ?: LOWEST(root));

static bool add_bytes(const struct sharing *s, struct sharer *out) {
	FREED bool *is_reached = flow_reach(s->g, out->root);
	for (uint32_t v = s->first_block; is_reached && v < s->g->n; v++) {
		out->bytes += is_reached[v] && s->tops[v] >= s->first_block ? bytes_of(s, v) : 0;
	}
	return is_reached;
}

bool sharers_find(const struct flow *g, const struct dominators *d,
		const struct live_blocks *blocks, uint32_t out[static GRAPH_SHARERS]) {
	FREED uint32_t *numbers = calloc(g->n, 2 * sizeof *numbers);
	FREED uint64_t *scores = calloc(g->n, sizeof *scores);
	struct sharer found[CANDIDATES] = {0};
	bool ok = numbers && scores;
	if (!ok) {
		return false;
	}
	struct sharing s = {g, blocks, g->n - (uint32_t)blocks->n, numbers, numbers + g->n, scores};
	find_tops(&s, d);
	score_roots(&s);
	const uint64_t all = SUM(v, blocks->n, scores[s.first_block + v]);
	for (int i = 0; ok && i < CANDIDATES; i++) {
		uint64_t *best = MOST_OF(score, scores + 1, s.first_block - 1ul, *score);
		if (best) {
			found[i].root = (uint32_t)(best - scores);
			*best = 0;
			ok = add_bytes(&s, &found[i]);
		}
	}
	qsort(found, CANDIDATES, sizeof *found, by_bytes);
	for (int i = 0; i < GRAPH_SHARERS && found[i].root && found[i].bytes >= all - found[i].bytes;
			i++) {
		out[i] = found[i].root;
	}
	return ok;
}
