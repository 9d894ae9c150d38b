// SPDX-License-Identifier: MIT
#pragma once
/**
 * The lens, the part of a recording that a query is about. Every query of the engine takes one, so
 * that text, page, JSON and exports cannot disagree. It has one textual form, for --lens and for
 * the address of the page: terms in any order, joined by '&', with values percent-encoded as in a
 * URL:
 *
 *   m=peak            metric: one of metrics.h
 *   t=1.66-2.19       time range. Each end: seconds; 12% of the run; -5s before the end; 12:03:07
 *                     by wall clock; start; end; peak; mark:NAME, a moment that the program named
 *                     (mark:NAME#2: the second of that name). `t=peak` alone: from the valley
 *                     before the peak to the first edge at which what came with it is gone
 *   q=parse           stacks with a frame whose function, file or module holds the text, whatever
 *                     the case of A to Z; /.../ is an extended regular expression, case as
 *                     written; ! before it: stacks without such a frame. May stand several times:
 *                     all must hold
 *   focus=NAME        what NAME and its callees cost: stacks are cut above its outermost frame
 *   hide=NAME         frames of this function are left out; their costs go to their callers
 *   fold=0            library frames are shown one by one (1, the default: a run of them is one)
 *   threads=NAME,...  only blocks allocated by threads of these names
 *   process=4711,cc1plus,...  of a tree of processes: only blocks allocated by the process with
 *                     this pid (#3: the third that joined), or while executing this command
 *   grade=unreachable,cycle  only blocks of these grades (heaptrack --leaks), of m=graded, which it
 *                     stands for alone, or of m=unreachable
 *   group=package     frames are gathered: function (default) package module file
 *
 * NAME is a function's whole name, or what stands in it before the first '(' or '<', with or
 * without "()" behind it: "spike", "spike()" and "spike(int)" name the same.
 *
 * Ranges snap to the recording's edges, outwards: the beginning to the last edge at or before the
 * moment (none: the start), the end to the first edge at or after it (none: the end), but for
 * marks: there both go to the last edge before it, so that ranges from mark to mark neither overlap
 * nor leave a gap. What would be empty gets the edge that follows. Every number at an edge is
 * exact. A range goes from just after edge `from` to edge `to`, both inclusive of what happened up
 * to that moment:
 *
 *   allocated in it     from < interval.from <= to
 *   alive at edge k     interval.from <= k < interval.until
 *   kept                allocated in it, and interval.until > to
 */

#include "engine/metrics.h"
#include "engine/names.h"

/*
 * In a range, LENS_PEAK is what was live at its largest edge (the first of equals; the end of the
 * recording, if it has no edge), even if allocated before. The bytes of LENS_TEMPORARY are exact
 * for the whole recording; in a range they are the interval's if all its blocks were temporary,
 * else their share by number: bytes * temporary / count, rounded down. t=peak goes from the valley
 * (the last edge before the peak with at most half of its bytes, then back while the edge before
 * has less; else the start) to the first edge after the peak with at most the valley's bytes plus a
 * tenth of the rise (else the end).
 */

enum lens_group {
	LENS_BY_FUNCTION,
	LENS_BY_PACKAGE,
	LENS_BY_MODULE,
	LENS_BY_FILE,
	N_LENS_GROUPS,
};

enum {
	LENS_START = -1, // before the first edge: nothing is allocated yet
};

struct lens_text { // one `q`
	struct slice text;
	bool is_regex, is_negated;
};

struct lens {
	enum lens_metric metric;
	enum lens_group group;
	bool has_range;              // false: the whole recording, exact to its very end
	int32_t from, to;            // edges, LENS_START <= from < to <= edges.n (edges.n: the end)
	struct slice time;           // as written, borrowed; empty: it is not written
	uint64_t since_ns, until_ns; // as written: looks at what points to blocks have no edges
	bool is_unfolded;
	uint32_t grades; // a bit each, 0: all; for metrics that have them
	const struct lens_text *texts;
	uint32_t n_texts;
	const struct slice *focus, *hide, *threads, *processes; // as written
	uint32_t n_focus, n_hide, n_threads, n_processes;
};

/** Does it leave out any stacks? */
static inline bool lens_selects(const struct lens *l) {
	return l->n_texts || l->n_focus || l->n_threads || l->n_processes;
}

/** The moment of a lens's edge: 0 for LENS_START, the recording's end for edges.n. */
static inline uint64_t lens_edge_ns(const struct recording *r, int32_t edge) {
	return edge < 0                      ? 0
			: edge < (int32_t)r->edges.n ? r->edges.items[edge].time_ns
										 : r->meta.duration_ns;
}

/** The whole recording, by what was live at the peak. */
struct lens lens_whole(void);

/** The textual form. False: `err` says which word is wrong, and how to write it. */
bool lens_parse(struct lens *l, struct slice text, const struct recording *r, struct arena *arena,
		struct err *err);

/** Is there a process of the tree that `process=NAME` selects, told apart from others? */
bool lens_has_process(const struct recording *r, struct slice name);

/** Find the range of `l->time` among the edges of another recording. */
bool lens_time_of(struct lens *l, const struct recording *r, struct arena *arena, struct err *err);

/** The range between two marks, snapped like marks; `to_ns` may be the end. There are edges. */
void lens_between(struct lens *l, const struct recording *r, uint64_t from_ns, uint64_t to_ns);

extern const char *const lens_group_names[N_LENS_GROUPS];

/** "held", "held_inside" ... of enum rec_grade_id. */
extern const char *const lens_grade_names[REC_GRADES];

/** The shortest text that lens_parse reads as the same lens; "" for lens_whole(). */
struct slice lens_text(const struct lens *l, const struct recording *r, struct arena *arena);

/** Append a name as in a URL: letters, digits and `plain` as they are. */
void lens_put_encoded(struct buffer *out, struct slice s, const char *plain);

struct lens_costs {
	uint64_t bytes, blocks;                // by the metric
	uint64_t allocations, allocated_bytes; // made in the range
	uint64_t temporary;                    // of these
};

/** Is there any block or allocation, or for `resident` a mapping? */
static inline bool lens_costs_any(const struct lens_costs *c) {
	return c->blocks || c->allocations || c->bytes;
}

static inline void lens_costs_add(struct lens_costs *to, const struct lens_costs *c) {
	ADD_FIELDS(to, c, bytes, blocks, allocations, allocated_bytes, temporary);
}

static inline struct lens_costs lens_costs_between(const struct lens_costs *smaller,
		const struct lens_costs *larger) {
	return (struct lens_costs){
			.bytes = larger->bytes - smaller->bytes,
			.blocks = larger->blocks - smaller->blocks,
			.allocations = larger->allocations - smaller->allocations,
			.allocated_bytes = larger->allocated_bytes - smaller->allocated_bytes,
			.temporary = larger->temporary - smaller->temporary,
	};
}

/** What a stack costs over the whole recording, exactly. */
struct lens_costs lens_stack_costs(enum lens_metric metric, const struct rec_stack *s);

/** The number to rank by: bytes, or blocks for metrics that count. */
static inline uint64_t lens_metric_weight(enum lens_metric metric, const struct lens_costs *c) {
	return lens_metrics[metric].is_counted ? c->blocks : c->bytes;
}

static inline uint64_t lens_weight(const struct lens *l, const struct lens_costs *c) {
	return lens_metric_weight(l->metric, c);
}

/** For qsort_r with a lens: heaviest first, then the lowest `then`. */
#define HEAVIEST_FIRST(name, type, then)                                            \
	ORDER_BY(name, type,                                                            \
			compare_u64(lens_weight(user, &b->costs), lens_weight(user, &a->costs)) \
					?: LOWEST(then))

/** Whom a stack is listed under; for what was never freed: who keeps it. */
static inline const struct name *lens_site(const struct lens *l, const struct names *n,
		uint32_t node) {
	bool is_kept = lens_metrics[l->metric].rule == METRIC_NEVER_FREED;
	return is_kept ? names_keeper(n, node) : names_site(n, node);
}

struct lens_result {
	struct lens_costs *stacks; // one per rec_stack; zero where the lens leaves it out
	struct lens_costs total;   // of them
	uint64_t moment_ns;        // for LENS_PEAK: when; else the end of the range
	uint8_t *is_left_out;      // per stack: by texts, focus, threads or process; NULL: none
};

static inline bool lens_leaves_out(const struct lens_result *result, uint32_t stack) {
	return result->is_left_out && result->is_left_out[stack];
}

/**
 * Costs of every stack under the lens, in one scan over the intervals. False: its metric is not of
 * what the recording's stacks count; `err` says which views show it.
 */
bool lens_apply(const struct lens *l, const struct recording *r, const struct names *n,
		struct arena *arena, struct lens_result *out, struct err *err);

// ---- names matched against a lens: which frames it selects, focuses on or hides

enum { LENS_TEXTS_MAX = 30 };

enum lens_frame {
	LENS_IS_FOCUS = 1,
	LENS_IS_HIDDEN = 2,
};

struct lens_match {
	uint32_t *locations; // per location: bit i: a frame holds texts[i]; NULL: no texts
	uint8_t *functions;  // per name.function_id: enum lens_frame; NULL: no focus, nothing hidden
};

struct lens_match lens_match_names(const struct lens *l, const struct recording *r,
		const struct names *n, struct arena *arena);

/** Does this extended regular expression compile? False: `err` says what is wrong. */
bool lens_pattern_is_valid(struct slice pattern, struct err *err);

static inline unsigned lens_frame_of(const struct lens_match *m, const struct name *frame) {
	return m->functions ? m->functions[frame->function_id] : 0;
}

/** Does this function go by that name, as described above? */
bool lens_is_named(struct slice function, struct slice name);
