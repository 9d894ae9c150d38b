// SPDX-License-Identifier: MIT
#pragma once
/**
 * Breaks the total down by site, type, thread, size or lifetime instead of callers. Under any lens,
 * the parts add up to the result's total. Whatever a recording does not distinguish (sizes and
 * lifetimes are kept for the whole run) is one part, labelled as such.
 */

#include "engine/lens.h"

// ---- the stacks of a whole recording ranked by a metric
//
// Or those of all threads joined, for queries that do not distinguish threads. For every metric,
// the costs of all stacks add up to the recording's totals.

/** Stacks with any block, heaviest first; equal ones in their order. Malloc'ed. */
struct rank *rank_stacks(const struct recording *r, enum lens_metric metric, uint32_t *n);

/**
 * The recording with one stack per node, for all threads together. A shallow copy, whose stacks
 * live in `arena`; it has no intervals, sizes, lifetimes or untouched bytes, because those name
 * stacks by their rows.
 */
void recording_by_node(const struct recording *r, struct arena *arena, struct recording *out);

// ---- parts

enum breakdown_by {
	BY_SITE,
	BY_CLASS,
	BY_GRADE,
	BY_THREAD,
	BY_TID,
	BY_PROCESS,
	BY_COMMAND,
	BY_SIZE,
	BY_LIFETIME,
	N_BREAKDOWNS,
};

/**
 * "site", "class" (as blocks were seen to be, or else where the stack proves it), "grade", "thread"
 * (by name), "tid" (each apart), "process" and "command" (of a tree of processes), "size",
 * "lifetime".
 */
extern const char *const breakdown_names[N_BREAKDOWNS];

struct part {
	struct slice label;
	const struct name *name; // of a site, else NULL
	uint64_t least;          // BY_SIZE: bytes; BY_LIFETIME: ns: the least of the class
	bool is_rest;            // not told apart, or of no class
	struct lens_costs costs;
	uint32_t n_stacks;
	uint32_t heaviest;  // stack
	uint32_t n_threads; // BY_THREAD: how many of that name made what is counted
	uint32_t tid;       // BY_TID; 0: several short threads of one name. BY_PROCESS: its pid
	const struct rec_class *class; // BY_CLASS: what was seen; NULL: nothing
};

struct breakdown {
	struct part *parts; // sites, types and threads heaviest first, classes rising; the rest last
	uint32_t n;
};

/** Its parts are no classes: they come heaviest first. */
bool breakdown_is_ranked(enum breakdown_by by);

/** Parts that cost nothing are left out. All in the arena. */
struct breakdown breakdown_make(enum breakdown_by by, const struct lens *l,
		const struct recording *r, const struct names *n, const struct lens_result *result,
		struct arena *arena);

/** The sites of a whole recording, of blocks, and what all cost. */
struct breakdown rank_sites(const struct recording *r, const struct names *n,
		enum lens_metric metric, struct arena *arena, struct lens_costs *total);

// ---- the heap over time under a lens
//
// It says what was live at each edge of the range, and what was allocated before it.

struct timeline_point {
	uint32_t edge;                         // edges.n: the end of the recording
	uint64_t time_ns;                      // of the edge
	uint64_t bytes, blocks;                // live then
	uint64_t allocations, allocated_bytes; // made since the point before
	uint64_t temporary;                    // of these
};

/**
 * One point per edge of the range, and for the end of the recording if it is in it. The
 * allocations of all points sum to the total of `result`, which is that of the lens; for LENS_PEAK
 * the largest point is the total's.
 */
struct timeline {
	struct timeline_point *points;
	uint32_t n;
};
struct timeline timeline_make(const struct lens *l, const struct recording *r,
		const struct lens_result *result, struct arena *arena);

/**
 * The same for a picture: as fine as it is known. If the lens leaves nothing out, the points are
 * those of the whole's curve (`edge` is then 0), which may have many more of them.
 */
struct timeline timeline_draw(const struct lens *l, const struct recording *r,
		const struct lens_result *result, struct arena *arena);
