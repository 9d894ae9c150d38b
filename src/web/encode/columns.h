// SPDX-License-Identifier: MIT
#pragma once
/**
 * The tables of the blob, column after column. docs/page-format.md describes them. Rows follow the
 * page's order: nodes in pre-order, stacks by node. Every function appends to `out`, whose failure
 * is sticky; false: no memory.
 */

#include "web/blob.h"
#include "web/encode/frames.h"

/** Whom a stack is listed under. */
struct page_site {
	uint32_t node; // that names it, or the innermost of the module that does
	struct slice module;
	uint32_t word; // of the module; known once the words are written
};

/** What the page shows as one stack: all of a thread's that end in the same node. */
struct page_stack {
	uint32_t node;
	uint32_t thread;               // 0: not told apart
	struct page_site site, keeper; // names_site, names_keeper
	struct rec_stack sum;
	struct rec_lifetimes lifetimes;
};

struct page_stacks {
	struct page_stack *items; // by node
	uint32_t n;
	uint32_t *of;      // per rec_stack: its page_stack
	uint32_t n_merged; // rec_stacks that were too small to be shown at their own node
};

struct columns {
	const struct recording *r;
	const struct names *names;
	const struct frames *frames;
	const struct blob_options *options;
	struct arena *arena;
	struct page_stacks stacks;
};

/** Finds out which stacks the page has. */
bool columns_find_stacks(struct columns *c);

/** Three tables: texts, and the functions and threads that are named by them. Before the stacks. */
bool columns_symbols(struct columns *c, struct buffer *strings, struct buffer *symbols,
		struct buffer *threads);
void columns_nodes(const struct columns *c, struct buffer *out);
void columns_stacks(const struct columns *c, struct buffer *out);
void columns_periods(const struct rec_edge *items, uint32_t n, struct buffer *out);
bool columns_intervals(struct columns *c, struct buffer *out);
bool columns_sizes(struct columns *c, struct buffer *out);
void columns_handovers(const struct columns *c, struct buffer *out);
bool columns_samples(const struct columns *c, struct buffer *out);

/** The table of lines of source around the sites that cost most. False: no memory. */
bool sources_write(const struct columns *c, struct buffer *out);

/** What the page says besides its tables, as one JSON object. False: `err` says why. */
bool facts_write(struct buffer *out, const struct columns *c, struct err *err);
