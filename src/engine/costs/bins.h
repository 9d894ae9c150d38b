// SPDX-License-Identifier: MIT
#pragma once
/**
 * The time axis in bounded memory. It consists of periods of one length, each with an edge at the
 * moment of its largest heap, and intervals of blocks between edges, in bounded memory.
 *
 *   period k-1      period k (running)
 *   |----E-------|-------E..........|     E: edge, the first moment of the period's maximum
 *        |  a    b    c  |  d
 *
 * A block lives at edge k if it was born at or before E[k] and died after it. So `from` is the
 * first edge at or after its birth, `until` the first edge at or after its death. While period k
 * runs, its edge may still move: a block that was born after it (d) has from k + 1, unless a new
 * maximum makes that k; the same for deaths.
 *
 * Frees are logged, one item per (stack, from) as long as the edge stays. A new maximum determines
 * the `until` of everything logged so far: the mark moves to the end of the log.
 *
 *   log   [ until = k: settled ............ | until = k + 1, if the edge stays where it is ]
 *         0                               mark                                           n_log
 *
 * When the period ends, settled items are merged and appended to the intervals; the others are the
 * settled ones of the next period. So the intervals are ordered by `until`, and equal ones never
 * come twice, without a table that holds them all.
 *
 * When there are twice the wanted number of periods, neighbours are joined: the larger edge of the
 * two stays (the first of equal ones), periods become twice as long, intervals that are now equal
 * are merged. The largest edge of all is the peak, and stays for ever. If there are too many
 * intervals, periods are joined earlier: an interval must represent several frees, or the detail
 * would cost as much as the events themselves. They are then joined as often as a sample of the
 * stacks shows to be necessary: if blocks live for many periods, the first joins alone would save
 * nothing.
 *
 * The heap as a whole has its own curve, with points like the edges of the intervals; its periods
 * are joined only when there are twice the wanted number. Each edge is one of its points, and the
 * curve stays fine even if the intervals had to become coarse.
 */

#include "trace/recording.h"

enum {
	BINS_SHORTEST_SHIFT = 17, // the shortest period is 2^17 ns
	BINS_MAX = 1 << 14,       // of min_bins: twice that must fit into 16 bits
	BINS_DEATHS = 8,          // per interval, beyond half of max_intervals
	BINS_PER_STACK = 4,       // intervals that a stack may have in any case, as long as max allows
};

struct bins {
	uint32_t min_bins;
	uint32_t max_intervals;
	unsigned shift;        // the length of a period is 1 << shift ns
	uint64_t period_end;   // of the running one
	uint64_t running_edge; // its edge's moment so far: running.time_ns
	uint32_t n;            // periods that ended; the number of the running one
	uint64_t *edge_times;  // of those that ended
	struct rec_edge *edges;
	struct rec_edge running;

	unsigned curve_shift; // at most `shift`
	uint64_t curve_end;   // of the running point's period
	uint32_t n_curve;
	struct rec_edge *curve; // points whose periods ended
	struct rec_edge point;  // the running one

	struct rec_interval *log;
	size_t n_log, mark, log_capacity;
	struct rec_interval *intervals;
	size_t n_intervals, intervals_capacity;

	unsigned levels; // periods are to be joined that often at once, when their number allows; 0: no

	uint32_t *scratch; // of merging: (stack, from) -> item
	size_t scratch_size;
};

/** The running period is the first one. */
void bins_init(struct bins *b, uint32_t min_bins, uint32_t max_intervals);
void bins_finish(struct bins *b);
uint64_t bins_bytes(const struct bins *b);

/** Room for `more` deaths in the log. */
void bins_reserve(struct bins *b, size_t more);

/** The first edge at or after a moment that was. */
static inline uint32_t bins_edge_after(const struct bins *b, uint64_t moment) {
	uint32_t period = (uint32_t)(moment >> b->shift);
	uint64_t edge = LIKELY(period == b->n) ? b->running_edge : b->edge_times[period];
	return period + (moment > edge);
}

/** Log a death of now. `hint` is the stack's own, of its last death. bins_reserve made room. */
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

/** All deaths logged so far came before the edge, which moved. */
static inline void bins_settle(struct bins *b) {
	b->mark = b->n_log;
}

/** The log of what lives: no item of it ends. Merge equal ones. */
void bins_end_live(struct bins *b);

/** Copied field by field: a wide copy right after narrow stores would have to wait for them. */
static inline void bins_set_edge(struct rec_edge *edge, const struct rec_edge *now) {
	COPY_FIELDS(edge, now, time_ns, bytes, blocks, allocations, allocated_bytes, temporary);
}

/**
 * The heap is larger than ever in the running point's period: `now` is its point so far. True: than
 * ever in the running period, too; now is its edge.
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
 * The running point's period is over, and with it perhaps the running period; or they were made
 * longer, because there were too many: look at curve_end again. `so_far`: bytes, blocks and the
 * counters of now. `n_stacks`: of all intervals.
 */
void bins_advance(struct bins *b, const struct rec_edge *so_far, uint32_t n_stacks);

/** The running edge, and the running point, as if their periods ended at `end_ns`. */
struct rec_edge bins_edge_at(const struct bins *b, uint64_t end_ns);
struct rec_edge bins_point_at(const struct bins *b, uint64_t end_ns);

/** Edges or points that ended, and the running one. */
struct rec_edge *bins_copy_edges(struct arena *arena, const struct rec_edge *ended, uint32_t n,
		struct rec_edge running);

/** The log of the running period, labelled and merged: in `log`, which the caller finishes. */
void bins_copy_log(const struct bins *b, struct bins *log);

/**
 * Merge, in place, items of equal (stack, from); those of one call have equal `until`. `scratch`
 * holds merge_scratch(n) numbers. Gives how many are left.
 */
size_t intervals_merge(struct rec_interval *items, size_t n, uint32_t *scratch);
size_t intervals_merge_scratch(size_t n);
