// SPDX-License-Identifier: MIT
#pragma once
/**
 * Breaks the total down by site, type, thread, size or lifetime instead of callers. Under any lens,
 * the parts add up to the result's total. What a recording does not distinguish under a lens (sizes
 * and lifetimes are kept for the whole run) is one part, labelled as such.
 */

#include "engine/lens.h"

// ---- the stacks of a whole recording ranked by a metric
//
// Or those of all threads joined, for queries that do not distinguish threads. For every metric,
// the costs of all stacks add up to the recording's totals.

/** The stacks with any block, heaviest first; ties in their order. From malloc. */
struct rank *rank_stacks(const struct recording *r, enum lens_metric metric, uint32_t *n);

/**
 * A shallow copy with one stack per node for all threads, which lives in `arena`. It has no
 * intervals, sizes, lifetimes or untouched bytes, which name stacks by row.
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
 * "site", "class" (as seen in blocks, else where the stack proves it), "grade", "thread" (by name),
 * "tid" (each separately), "process" and "command" (of a tree), "size", "lifetime".
 */
extern const char *const breakdown_names[N_BREAKDOWNS];

struct part {
	struct slice label;
	const struct name *name; // of a site (of its line that weighs most), else NULL
	uint64_t least;          // lower bound of the class: BY_SIZE in bytes, BY_LIFETIME in ns
	bool is_rest;            // not distinguished, or of no class
	struct lens_costs costs;
	uint32_t n_stacks;
	uint32_t heaviest;  // stack, of a site of that line; else the first
	uint64_t of_line;   // of a site: what all stacks of that line weigh
	uint32_t n_threads; // BY_THREAD: how many threads of that name
	uint32_t tid;       // BY_TID; 0: several short threads of one name. BY_PROCESS: the pid
	const struct rec_class *class; // BY_CLASS: the class that was seen; NULL: none
};

struct breakdown {
	struct part *parts; // sites, types and threads heaviest first, classes rising; the rest last
	uint32_t n;
};

/** Are its parts ordered by weight, not by class? */
bool breakdown_is_ranked(enum breakdown_by by);

/** Parts that cost nothing are left out. In the arena. */
struct breakdown breakdown_make(enum breakdown_by by, const struct lens *l,
		const struct recording *r, const struct names *n, const struct lens_result *result,
		struct arena *arena);

/** The sites of a whole recording of blocks; *total: the cost of all. */
struct breakdown rank_sites(const struct recording *r, const struct names *n,
		enum lens_metric metric, struct arena *arena, struct lens_costs *total);

// ---- the heap over time under a lens
//
// What was live at each edge of the range, and what was allocated since the edge before.

struct timeline_point {
	uint32_t edge;                         // edges.n: the end of the recording
	uint64_t time_ns;                      // of the edge
	uint64_t bytes, blocks;                // live then
	uint64_t allocations, allocated_bytes; // since the previous point
	uint64_t temporary;                    // of these allocations
};

/**
 * A point per edge of the range, and one for the recording's end if that is included. All points'
 * allocations add up to the total of `result`; for LENS_PEAK the largest equals it.
 */
struct timeline {
	struct timeline_point *points;
	uint32_t n;
};
struct timeline timeline_make(const struct lens *l, const struct recording *r,
		const struct lens_result *result, struct arena *arena);

/**
 * The same at the finest known resolution, for drawing. If the lens leaves nothing out, the points
 * are those of the recording's curve, which may have many more (`edge` is then 0).
 */
struct timeline timeline_draw(const struct lens *l, const struct recording *r,
		const struct lens_result *result, struct arena *arena);
