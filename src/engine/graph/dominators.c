// SPDX-License-Identifier: MIT
/* Semi-NCA. Numbers are positions in the order of the walk, unless they are called vertices. */
#include "engine/graph/dominators.h"

bool *flow_reach(const struct flow *g, uint32_t start) {
	FREED uint32_t *queue = memory_new(g->n, sizeof *queue);
	bool *is_reached = memory_new(g->n, sizeof *is_reached);
	uint32_t n = 0;
	is_reached[start] = true;
	queue[n++] = start;
	for (uint32_t at = 0; at < n; at++) {
		for (size_t e = g->first[queue[at]]; e < g->first[queue[at] + 1]; e++) {
			const uint32_t to = g->to[e];
			if (!is_reached[to]) {
				is_reached[to] = true;
				queue[n++] = to;
			}
		}
	}
	return is_reached;
}

struct walk {
	const struct flow *g;
	struct dominators *out;
	uint32_t *place;   // of a vertex; NOT_YET: not reached
	uint32_t *parent;  // in the depth-first tree; later the end of a compressed path upwards
	uint32_t *semi;    // semidominator: the first to lead here through later ones only
	uint32_t *label;   // the one with the first `semi` on the path up to `parent`
	uint32_t *scratch; // a stack; later the predecessors
	size_t *from;      // where those of a position begin in `scratch`
};

#define NOT_YET UINT32_MAX

static void reach(struct walk *w, uint32_t vertex, uint32_t parent) {
	struct dominators *out = w->out;
	w->place[vertex] = out->n;
	w->parent[out->n] = parent;
	out->vertices[out->n++] = vertex;
}

/** Uses `from` for the next edge of each vertex on the path. */
static void walk_in_depth(struct walk *w) {
	const struct flow *g = w->g;
	size_t *next = w->from;
	uint32_t n_open = 1;
	memset(w->place, 0xff, g->n * sizeof *w->place);
	memcpy(next, g->first, g->n * sizeof *next);
	reach(w, 0, 0);
	w->scratch[0] = 0;
	while (n_open > 0) {
		const uint32_t v = w->scratch[n_open - 1];
		if (next[v] == g->first[v + 1]) {
			n_open--;
			continue;
		}
		const uint32_t to = g->to[next[v]++];
		if (w->place[to] == NOT_YET) {
			reach(w, to, w->place[v]);
			w->scratch[n_open++] = to;
		}
	}
}

/** Reverse the edges. */
static void turn_round(struct walk *w, uint32_t *sources) {
	const struct flow *g = w->g;
	const uint32_t n = w->out->n;
	memset(w->from, 0, (n + 1) * sizeof *w->from);
	for (uint32_t i = 0; i < n; i++) {
		const uint32_t v = w->out->vertices[i];
		for (size_t e = g->first[v]; e < g->first[v + 1]; e++) {
			w->from[w->place[g->to[e]]]++;
		}
	}
	size_t sum = 0;
	for (uint32_t i = 0; i <= n; i++) {
		sum += w->from[i];
		w->from[i] = sum; // one past its own
	}
	for (uint32_t i = n; i-- > 0;) {
		const uint32_t v = w->out->vertices[i];
		for (size_t e = g->first[v]; e < g->first[v + 1]; e++) {
			sources[--w->from[w->place[g->to[e]]]] = i;
		}
	}
}

/** The best label on the path up from `v` to positions from `least` on; compresses the path. */
static uint32_t best_above(struct walk *w, uint32_t v, uint32_t least) {
	uint32_t n = 0, at = v;
	while (w->parent[at] >= least) {
		w->scratch[n++] = at;
		at = w->parent[at];
	}
	while (n-- > 0) {
		const uint32_t below = w->scratch[n], up = w->label[at];
		w->label[below] = w->semi[up] < w->semi[w->label[below]] ? up : w->label[below];
		w->parent[below] = w->parent[at];
		at = below;
	}
	return w->label[v];
}

static void find_above(struct walk *w, const uint32_t *sources) {
	uint32_t *above = w->out->above;
	const uint32_t n = w->out->n;
	for (uint32_t i = 0; i < n; i++) {
		above[i] = w->parent[i];
		w->semi[i] = w->label[i] = i;
	}
	for (uint32_t i = n; i-- > 1;) {
		w->semi[i] = w->parent[i];
		for (size_t e = w->from[i]; e < w->from[i + 1]; e++) {
			LOWER_TO(w->semi[i], w->semi[best_above(w, sources[e], i + 1)]);
		}
	}
	for (uint32_t i = 1; i < n; i++) {
		while (above[i] > w->semi[i]) {
			above[i] = above[above[i]];
		}
	}
}

void dominators_find(const struct flow *g, struct dominators *out) {
	FREED uint32_t *numbers = memory_new(g->n, 5 * sizeof *numbers);
	FREED size_t *from = memory_new(g->n + 1ul, sizeof *from);
	FREED uint32_t *sources = memory_new(g->first[g->n], sizeof *sources);
	*out = (struct dominators){.vertices = memory_new(g->n, sizeof *out->vertices),
			.above = memory_new(g->n, sizeof *out->above)};
	struct walk w = {g, out, numbers, numbers + g->n, numbers + 2 * (size_t)g->n,
			numbers + 3 * (size_t)g->n, numbers + 4 * (size_t)g->n, from};
	walk_in_depth(&w);
	turn_round(&w, sources);
	find_above(&w, sources);
}

void dominators_finish(struct dominators *d) {
	free(d->vertices);
	free(d->above);
	*d = (struct dominators){0};
}
