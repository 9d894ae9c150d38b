// SPDX-License-Identifier: MIT
#pragma once
/**
 * Which vertices of a graph are on every way to another one. The last of these before a vertex
 * dominates it: without that one, it would not be reached.
 *
 * Georgiadis: Linear-Time Algorithms for Dominators and Related Problems (2005), Semi-NCA.
 */

#include "base/base.h"

/** The edges of vertex v are to[first[v]] to to[first[v + 1]]. Vertex 0 is the start. */
struct flow {
	uint32_t n; // vertices
	size_t *first;
	uint32_t *to;
};

/** By vertex, whether a way leads there. Freed by the caller. */
bool *flow_reach(const struct flow *g, uint32_t start);

/** By the order in which a walk in depth reaches them, the start first; zeroed: empty. */
struct dominators {
	uint32_t n;         // vertices that are reached
	uint32_t *vertices; // in that order
	uint32_t *above;    // places in that order: who dominates it. Of the start, itself
};

/** Takes 20 bytes for each vertex. */
void dominators_find(const struct flow *g, struct dominators *out);
void dominators_finish(struct dominators *d);
