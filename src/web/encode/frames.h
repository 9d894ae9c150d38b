// SPDX-License-Identifier: MIT
#pragma once
/**
 * The stacks of a recording as a tree of frames, the way the page shows them: inlined frames have
 * nodes of their own, and calls from the same line of the same caller share one. Written in
 * pre-order, so that the nodes below one are those that follow it.
 */

#include "engine/names.h"

/** A function of one module, and one of its frames to describe it. */
struct frame_symbol {
	const struct name *name;
	uint32_t module;
	uint32_t file; // string id in the recording: what a source file is asked for by
};

struct frame_node {
	uint32_t parent; // smaller than the node's own index; node 0 is the program
	uint32_t symbol; // index into symbols; 0: none, of node 0 alone
	uint32_t line;   // 0: unknown
};

struct frames {
	REC_TABLE(struct frame_symbol) symbols; // [0] is empty
	REC_TABLE(struct frame_node) nodes;
	uint32_t *node_of; // per rec_node: the node of its innermost frame
};

/** All of it lives in `arena`. False: no memory. */
bool frames_build(const struct recording *r, const struct names *n, struct arena *arena,
		struct frames *out);
