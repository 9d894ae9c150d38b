// SPDX-License-Identifier: MIT
#pragma once
/**
 * The tables of the blob, column after column: docs/page-format.md. Rows follow the page's order:
 * nodes in pre-order, stacks by node. Every function appends to `out`, whose failure is sticky.
 */

#include "engine/call_tree.h"
#include "engine/memory.h"
#include "web/page.h"

/** Whom a stack is listed under. */
struct page_site {
	uint32_t node; // that names it, or the innermost of the module that does
	struct slice module;
	uint32_t word; // of the module; known once the words are written
};

/** What the page shows as one stack: all of a thread's and command's that end in the same node. */
struct page_stack {
	uint32_t node;
	uint32_t thread, command;      // 0: not told apart
	struct page_site site, keeper; // names_site, names_keeper
	struct rec_stack sum;
	struct rec_lifetimes lifetimes;
	struct lens_costs others[N_LENS_METRICS]; // by what is not of blocks
};

struct page_stacks {
	struct page_stack *items; // by node
	uint32_t n;
	uint32_t *of;      // per rec_stack: its page_stack
	uint32_t *mapping; // the same per rec_mapping
	uint32_t n_merged; // rec_stacks that were too small to be shown at their own node
};

struct columns {
	const struct recording *r;
	const struct names *names;
	const struct frames *frames;
	const struct blob_options *options;
	struct arena *arena;
	struct page_stacks stacks;
	const struct recording *others[N_LENS_METRICS]; // memory_as_recording(). NULL: not recorded
	struct texts words;                             // all that others name, which borrow them
};

/** Finds out which stacks the page has. */
void columns_find_stacks(struct columns *c);

/**
 * SECTION(number, what, part): in the order in which they are written. Strings are those of what
 * comes before them, and stacks need their numbers.
 */
#define BLOB_SECTIONS(SECTION) \
	SECTION(1, facts, 0)       \
	SECTION(3, symbols, 0)     \
	SECTION(9, threads, 0)     \
	SECTION(2, strings, 0)     \
	SECTION(4, nodes, 0)       \
	SECTION(5, stacks, 0)      \
	SECTION(14, others, 0)     \
	SECTION(6, edges, 0)       \
	SECTION(13, curve, 0)      \
	SECTION(11, samples, 0)    \
	SECTION(10, handovers, 0)  \
	SECTION(7, intervals, 1)   \
	SECTION(8, sizes, 1)       \
	SECTION(12, sources, 1)

typedef void write_section(struct columns *c, struct buffer *out);
#define DECLARE_SECTION(number, what, part) write_section columns_##what;
BLOB_SECTIONS(DECLARE_SECTION)
#undef DECLARE_SECTION

/** A path, or of a redacted one the last part. */
struct slice columns_shown_path(const struct columns *c, struct slice path);

// ---- the stacks of a recording as a tree of frames, the way the page shows them: inlined frames
// have nodes of their own, and calls from the same line of the same caller share one
//
// Written in pre-order, so that the nodes below one are those that follow it.

/** A function of one module, and one of its frames to describe it. */
struct frame_symbol {
	const struct name *name;
	uint32_t module;
	uint32_t file; // string id in the recording: what a source file is asked for by
};

struct frame_kind {
	uint32_t symbol; // index into symbols
	uint32_t line;   // 0: unknown
};

struct frames {
	REC_TABLE(struct frame_symbol) symbols; // [0] is empty
	REC_TABLE(struct frame_kind) kinds;     // the keys of nodes; [0] is empty, and node 0's
	REC_TABLE(struct call_node) nodes;
	uint32_t *node_of; // per rec_node: the node of its innermost frame
};

/** All of it lives in `arena`. */
void frames_build(const struct recording *r, const struct names *n, struct arena *arena,
		struct frames *out);

// ---- packs bytes as browsers unpack them without help: raw deflate, and base64 for text

/** Append `raw`, deflated without header or checksum: level 0 (as it is) to 9 (slow and small). */
void pack_deflate(struct buffer *out, struct slice raw, int level);

void pack_base64(struct buffer *out, struct slice raw);
