// SPDX-License-Identifier: MIT
#pragma once
/**
 * The dominators of a graph: vertices that are on every path from the start to another vertex,
 * which would not be reached without them. Georgiadis: Linear-Time Algorithms for Dominators and
 * Related Problems (2005), Semi-NCA.
 */

#include "base/base.h"

/** The edges of vertex v are to[first[v]] to to[first[v + 1]]. Vertex 0 is the start. */
struct flow {
	uint32_t n; // vertices
	size_t *first;
	uint32_t *to;
};

/** By vertex, whether it can be reached from `start`. Freed by the caller. */
bool *flow_reach(const struct flow *g, uint32_t start);

/** In the order of a depth-first walk, the start first. Zeroed: empty. */
struct dominators {
	uint32_t n;         // vertices reached
	uint32_t *vertices; // in that order
	uint32_t *above;    // positions in that order: the immediate dominator. Of the start, itself
};

/** Needs 20 bytes per vertex. */
void dominators_find(const struct flow *g, struct dominators *out);
void dominators_finish(struct dominators *d);
