// SPDX-License-Identifier: MIT
#pragma once
/**
 * The time axis in bounded memory. It consists of periods of one length, each with an edge at the
 * moment of its largest heap, and intervals of blocks between edges.
 *
 *   period k-1      period k (running)
 *   |----E-------|-------E..........|     E: edge, the first moment of the period's maximum
 *        |  a    b    c  |  d
 *
 * A block lives at edge k if it was born at or before E[k] and died after it. So `from` is the
 * first edge at or after its birth, `until` the first edge at or after its death. While period k
 * runs, its edge may still move: a block born after it (d) has `from` k + 1, unless a new maximum
 * makes that k; the same applies to deaths.
 *
 * Deaths are logged, one item per (stack, from) as long as the edge stays. A new maximum settles
 * the `until` of everything logged so far: the mark moves to the end of the log.
 *
 *   log   [ until = k: settled ............ | until = k + 1, if the edge stays where it is ]
 *         0                               mark                                           n_log
 *
 * When the period ends, settled items are merged and appended to the intervals; the others become
 * the settled ones of the next period. So intervals are ordered by `until`, and equal ones never
 * occur twice, without a table of all of them.
 *
 * At twice the wanted number of periods, neighbours are joined: the larger of two edges stays (the
 * first of equal ones), periods double, equal intervals are merged. The largest edge of all is the
 * peak, and stays for ever. If there are too many intervals, periods are joined earlier: an
 * interval must represent several deaths, or the detail would cost as much as the events
 * themselves. They are then joined as often as a sample of the stacks shows to be necessary: if
 * blocks live for many periods, the first joins alone would save nothing.
 *
 * The heap as a whole has its own curve, with points like edges; its periods are joined only at
 * twice the wanted number. Each edge is one of its points, and the curve stays fine even when
 * intervals are coarse.
 */

#include "trace/recording.h"

enum {
	BINS_SHORTEST_SHIFT = 17, // the shortest period is 2^17 ns
	BINS_MAX = 1 << 14,       // of min_bins: twice that must fit in 16 bits
	BINS_DEATHS = 8,          // per interval, beyond half of max_intervals
	BINS_PER_STACK = 4,       // intervals that a stack may have in any case, within max
};

struct bins {
	uint32_t min_bins;
	uint32_t max_intervals;
	unsigned shift;        // the length of a period is 1 << shift ns
	uint64_t period_end;   // of the running one
	uint64_t running_edge; // its edge so far: running.time_ns
	uint32_t n;            // periods that ended; the running one's number
	uint64_t *edge_times;  // of the ended periods
	struct rec_edge *edges;
	struct rec_edge running;

	unsigned curve_shift; // at most `shift`
	uint64_t curve_end;   // of the running point's period
	uint32_t n_curve;
	struct rec_edge *curve; // points of ended periods
	struct rec_edge point;  // the running one

	struct rec_interval *log;
	size_t n_log, mark, log_capacity;
	struct rec_interval *intervals;
	size_t n_intervals, intervals_capacity;

	unsigned levels; // how often to join periods at once, when their number allows; 0: not yet

	uint32_t *scratch; // of merging: (stack, from) -> item
	size_t scratch_size;
};

/** Begins with the first period running. */
void bins_init(struct bins *b, uint32_t min_bins, uint32_t max_intervals);
void bins_finish(struct bins *b);
uint64_t bins_bytes(const struct bins *b);

void bins_reserve(struct bins *b, size_t more);

/** The first edge at or after a past moment. */
static inline uint32_t bins_edge_after(const struct bins *b, uint64_t moment) {
	uint32_t period = (uint32_t)(moment >> b->shift);
	uint64_t edge = LIKELY(period == b->n) ? b->running_edge : b->edge_times[period];
	return period + (moment > edge);
}

/** Log a death at this moment. `hint` belongs to the stack. Requires bins_reserve. */
static inline void bins_log(struct bins *b, uint32_t *hint, uint32_t stack, uint32_t from,
		uint64_t size, bool is_temporary) {
	size_t at = *hint;
	struct rec_interval *item = &b->log[at];
	if (at < b->mark || at >= b->n_log || item->stack != stack || item->from != from ||
			UNLIKELY(item->count == UINT32_MAX)) {
		at = b->n_log++;
		item = &b->log[at];
		*item = (struct rec_interval){.stack = stack, .from = (uint16_t)from};
		*hint = (uint32_t)at;
	}
	item->count++;
	item->temporary += is_temporary;
	item->bytes += size;
}

/** The edge moved: all deaths logged so far came before it. */
static inline void bins_settle(struct bins *b) {
	b->mark = b->n_log;
}

/** For a log of live blocks: no item of it ends. Merges equal ones. */
void bins_end_live(struct bins *b);

/** Copied by field: a wide copy right after narrow stores would stall on them. */
static inline void bins_set_edge(struct rec_edge *edge, const struct rec_edge *now) {
	COPY_FIELDS(edge, now, time_ns, bytes, blocks, allocations, allocated_bytes, temporary);
}

/**
 * `now` is the maximum of the running point. True: also of the running period; it becomes its edge.
 */
static inline bool bins_rise(struct bins *b, const struct rec_edge *now) {
	bins_set_edge(&b->point, now);
	if (now->bytes <= b->running.bytes) {
		return false;
	}
	bins_set_edge(&b->running, now);
	b->running_edge = now->time_ns;
	return true;
}

/**
 * End the running point's period, and with it perhaps the running period; or make them longer, if
 * there are too many: check curve_end again. `so_far`: bytes, blocks and counters as of now.
 * `n_stacks`: of all intervals.
 */
void bins_advance(struct bins *b, const struct rec_edge *so_far, uint32_t n_stacks);

/** The running edge or point, as if its period ended at `end_ns`. */
struct rec_edge bins_edge_at(const struct bins *b, uint64_t end_ns);
struct rec_edge bins_point_at(const struct bins *b, uint64_t end_ns);

/** A copy of the ended edges or points, and the running one. */
struct rec_edge *bins_copy_edges(struct arena *arena, const struct rec_edge *ended, uint32_t n,
		struct rec_edge running);

/** A copy of the running period's log, labelled and merged, which the caller finishes. */
void bins_copy_log(const struct bins *b, struct bins *log);

/**
 * Merge items of equal (stack, from) in place and return how many are left. All items of one call
 * have equal `until`. `scratch` holds merge_scratch(n) numbers.
 */
size_t intervals_merge(struct rec_interval *items, size_t n, uint32_t *scratch);
size_t intervals_merge_scratch(size_t n);
