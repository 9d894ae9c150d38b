// SPDX-License-Identifier: MIT
/* Closes periods, doubles them when there are too many, and merges intervals. */
#include "engine/costs/bins.h"

#include "sys/pages.h"

size_t intervals_merge_scratch(size_t n) {
	size_t size = 16;
	while (size < n * 2) {
		size *= 2;
	}
	return size;
}

/** Add `item` to `sum`; false if the counters would overflow. */
static bool add_interval(struct rec_interval *sum, const struct rec_interval *item) {
	uint32_t count;
	if (__builtin_add_overflow(sum->count, item->count, &count)) {
		return false;
	}
	sum->count = count;
	sum->temporary += item->temporary; // no more than count
	sum->bytes += item->bytes;
	return true;
}

/**
 * Open addressing: the low bits of a slot hold an item's number + 1, the others bits of its hash,
 * so that items that only collide, which lie anywhere in memory, are not touched.
 */
size_t intervals_merge(struct rec_interval *items, size_t n, uint32_t *scratch) {
	size_t mask = intervals_merge_scratch(n) - 1;
	uint32_t number_mask = n ? UINT32_MAX >> __builtin_clz((uint32_t)n) : 0;
	memset(scratch, 0, (mask + 1) * sizeof *scratch);
	size_t n_out = 0;
	for (size_t i = 0; i < n; i++) {
		struct rec_interval item = items[i];
		uint64_t hash = hash_u64((uint64_t)item.stack << 16 | item.from);
		uint32_t tag = (uint32_t)(hash >> 32) & ~number_mask;
		size_t at = hash & mask;
		for (; scratch[at]; at = (at + 1) & mask) {
			if ((scratch[at] & ~number_mask) != tag) {
				continue;
			}
			struct rec_interval *other = &items[(scratch[at] & number_mask) - 1];
			if (other->stack == item.stack && other->from == item.from &&
					add_interval(other, &item)) {
				break;
			}
		}
		if (!scratch[at]) {
			items[n_out++] = item;
			scratch[at] = (uint32_t)n_out | tag;
		}
	}
	return n_out;
}

/** Item numbers of the log have 32 bits. */
static void reserve_log(struct bins *b, size_t need) {
	if (need > UINT32_MAX) {
		(void)memory_lacks();
	}
	pages_reserve((void **)&b->log, &b->log_capacity, need, sizeof *b->log);
}

static void reserve_intervals(struct bins *b, size_t need) {
	pages_reserve((void **)&b->intervals, &b->intervals_capacity, need, sizeof *b->intervals);
}

static void reserve_scratch(struct bins *b, size_t n) {
	size_t need = intervals_merge_scratch(n);
	if (need > b->scratch_size) {
		free(b->scratch);
		b->scratch = memory_new(need, sizeof *b->scratch);
		b->scratch_size = need;
	}
}

void bins_init(struct bins *b, uint32_t min_bins, uint32_t max_intervals) {
	min_bins = min_bins < 2 ? 2 : min_bins > BINS_MAX ? BINS_MAX : min_bins;
	*b = (struct bins){
			.min_bins = min_bins,
			.max_intervals = max_intervals,
			.shift = BINS_SHORTEST_SHIFT,
			.period_end = 1 << BINS_SHORTEST_SHIFT,
			.curve_shift = BINS_SHORTEST_SHIFT,
			.curve_end = 1 << BINS_SHORTEST_SHIFT,
	};
	b->curve = memory_new((size_t)min_bins * 2, sizeof *b->curve);
	b->edges = memory_new((size_t)min_bins * 2, sizeof *b->edges);
	b->edge_times = memory_new((size_t)min_bins * 2, sizeof *b->edge_times);
	reserve_log(b, 1);
	reserve_intervals(b, 1);
}

void bins_finish(struct bins *b) {
	pages_give(b->log, b->log_capacity * sizeof *b->log);
	pages_give(b->intervals, b->intervals_capacity * sizeof *b->intervals);
	CALL_FOR(free_at, b, scratch, edge_times, edges, curve);
	*b = (struct bins){0};
}

uint64_t bins_bytes(const struct bins *b) {
	return (uint64_t)b->min_bins * 2 *
			(sizeof *b->curve + sizeof *b->edges + sizeof *b->edge_times) +
			b->log_capacity * sizeof *b->log + b->n_intervals * sizeof *b->intervals +
			b->scratch_size * sizeof *b->scratch;
}

/** Label the settled items, and merge them. Returns how many are left. */
static size_t merge_settled(struct bins *b) {
	EACH_OF(item, b->log, b->mark) {
		item->until = (uint16_t)b->n;
		item->from = item->from < b->n ? item->from : (uint16_t)b->n;
	}
	return intervals_merge(b->log, b->mark, b->scratch);
}

/** Label all items of the log as if the period ended now, and merge equal ones. */
static void compact_log(struct bins *b) {
	if (b->n_log == 0) {
		return;
	}
	reserve_scratch(b, b->n_log);
	for (size_t i = b->mark; i < b->n_log; i++) {
		b->log[i].until = (uint16_t)(b->n + 1);
	}
	size_t n_settled = merge_settled(b);
	size_t n_open = intervals_merge(b->log + b->mark, b->n_log - b->mark, b->scratch);
	memmove(b->log + n_settled, b->log + b->mark, n_open * sizeof *b->log);
	b->mark = n_settled;
	b->n_log = n_settled + n_open;
}

void bins_end_live(struct bins *b) {
	compact_log(b);
	for (size_t i = 0; i < b->n_log; i++) {
		b->log[i].until = REC_NEVER;
	}
}

void bins_reserve(struct bins *b, size_t more) {
	if (UNLIKELY(b->n_log + more > b->log_capacity)) {
		compact_log(b);
		// Merging distinct items over and over would be slow: keep half the log free
		reserve_log(b, (b->n_log + more) * 2);
	}
}

/** Append the settled part of the log to the intervals; the rest becomes settled. */
static void append_settled(struct bins *b) {
	size_t n = merge_settled(b);
	memcpy(b->intervals + b->n_intervals, b->log, n * sizeof *b->log);
	b->n_intervals += n;
	b->n_log -= b->mark;
	memmove(b->log, b->log + b->mark, b->n_log * sizeof *b->log);
	b->mark = b->n_log;
}

/** Join two periods: the larger edge stays, the first of equal ones. True: that of `first`. */
static bool join(struct rec_edge *out, const struct rec_edge *first,
		const struct rec_edge *second) {
	bool first_stays = first->bytes >= second->bytes;
	struct rec_edge joined = first_stays ? *first : *second;
	joined.end_ns = second->end_ns;
	LOWER_TO(joined.min_bytes, first->min_bytes);
	LOWER_TO(joined.min_bytes, second->min_bytes);
	*out = joined;
	return first_stays;
}

/** Join edges 2j and 2j + 1. new_edge[k]: what edge k becomes. */
static void join_edges(struct bins *b, uint16_t *new_edge) {
	for (uint32_t j = 0; j < b->n / 2; j++) {
		bool first_stays = join(&b->edges[j], &b->edges[2 * j], &b->edges[2 * j + 1]);
		b->edge_times[j] = b->edges[j].time_ns;
		new_edge[2 * j] = (uint16_t)j;
		new_edge[2 * j + 1] = (uint16_t)(j + first_stays);
	}
	new_edge[b->n] = (uint16_t)(b->n / 2);
	new_edge[b->n + 1] = (uint16_t)(b->n / 2 + 1);
}

/** Relabel intervals with their new edges, and merge equal ones. Returns how many are left. */
static size_t relabel(struct rec_interval *items, size_t n, const uint16_t *new_edge,
		uint32_t *scratch) {
	size_t n_out = 0;
	for (size_t i = 0; i < n;) {
		// Intervals are and stay ordered by `until`: one group at a time
		uint16_t until = new_edge[items[i].until];
		size_t n_group = 0;
		for (; i < n && new_edge[items[i].until] == until; i++) {
			struct rec_interval item = items[i];
			item.from = new_edge[item.from];
			item.until = until;
			items[n_out + n_group++] = item;
		}
		n_out += intervals_merge(items + n_out, n_group, scratch);
	}
	return n_out;
}

/** The largest number of intervals that end within `n_edges` consecutive edges. */
static size_t largest_span(const struct bins *b, uint32_t n_edges) {
	size_t largest = 0;
	for (size_t i = 0, start = 0; i < b->n_intervals; i++) {
		while (b->intervals[i].until - b->intervals[start].until >= (int)n_edges) {
			start++;
		}
		largest = i - start >= largest ? i - start + 1 : largest;
	}
	return largest;
}

/** Intervals that now end at the running edge are incomplete: back to the log's settled part. */
static void unsettle_last(struct bins *b) {
	size_t n = 0;
	while (n < b->n_intervals && b->intervals[b->n_intervals - n - 1].until == b->n) {
		n++;
	}
	memmove(b->log + n, b->log, b->n_log * sizeof *b->log);
	b->n_intervals -= n;
	memcpy(b->log, b->intervals + b->n_intervals, n * sizeof *b->log);
	b->n_log += n;
	b->mark += n;
}

/** Join edges `levels` times. new_edge[k]: what edge k becomes as an end of intervals. */
static void join_levels(struct bins *b, unsigned levels, uint16_t *new_edge, uint16_t *step) {
	uint32_t n = b->n + 2;
	for (uint32_t k = 0; k < n; k++) {
		new_edge[k] = (uint16_t)k;
	}
	for (unsigned i = 0; i < levels; i++) {
		join_edges(b, step);
		for (uint32_t k = 0; k < n; k++) {
			new_edge[k] = step[new_edge[k]];
		}
		b->n /= 2;
	}
}

/**
 * Join 1 << levels periods into one; `n` is a multiple, so the running one only grows at its end.
 */
static void coarsen(struct bins *b, unsigned levels) {
	FREED uint16_t *new_edge = memory_new((size_t)b->n + 2, 2 * sizeof *new_edge);
	// What will end at one edge now ends up to that edge, after the one that stays before it
	size_t n_group = largest_span(b, (2u << levels) - 1);
	reserve_scratch(b, n_group);
	reserve_log(b, b->n_log + n_group);
	join_levels(b, levels, new_edge, new_edge + b->n + 2);
	b->n_intervals = relabel(b->intervals, b->n_intervals, new_edge, b->scratch);
	EACH_OF(item, b->log, b->n_log) {
		item->from = new_edge[item->from];
	}
	b->shift += levels;
	b->period_end = ((uint64_t)b->n + 1) << b->shift;
	b->levels = 0;
	unsettle_last(b);
}

// One stack in SAMPLE is examined to predict the effect of joining periods
enum { SAMPLE = 64, LEVELS_MAX = 5 };

static bool is_sampled(uint32_t stack) {
	return hash_u64(stack) % SAMPLE == 0;
}

/**
 * How often to join periods until there are few enough intervals: where blocks live for many
 * periods, the first joins save nothing and cost as much as the last.
 */
static unsigned levels_wanted(struct bins *b, uint64_t allowed) {
	size_t n = SUM(i, b->n_intervals, is_sampled(b->intervals[i].stack));
	FREED struct rec_interval *sample = memory_new(n + 1, sizeof *sample);
	FREED uint16_t *half = memory_new(b->n + 2, sizeof *half);
	reserve_scratch(b, n);
	n = 0;
	for (size_t i = 0; i < b->n_intervals; i++) {
		sample[n] = b->intervals[i];
		n += is_sampled(b->intervals[i].stack);
	}
	for (uint32_t k = 0; k < b->n + 2; k++) {
		half[k] = (uint16_t)(k / 2); // roughly: which edge stays is ignored
	}
	unsigned levels = 1;
	while (levels < LEVELS_MAX && b->n >> (levels + 1) >= 2 &&
			(n = relabel(sample, n, half, b->scratch)) * SAMPLE > allowed) {
		levels++;
	}
	return levels;
}

/** How many intervals are worth their cost. */
static uint64_t allowed_intervals(const struct bins *b, const struct rec_edge *so_far,
		uint32_t n_stacks) {
	uint64_t allowed = b->max_intervals / 2;
	uint64_t by_deaths = (so_far->allocations - so_far->blocks) / BINS_DEATHS;
	uint64_t by_stacks = (uint64_t)n_stacks * BINS_PER_STACK;
	RAISE_TO(allowed, by_deaths);
	RAISE_TO(allowed, by_stacks);
	return LOWER_TO(allowed, b->max_intervals);
}

/** A period's first moment, until there is a larger one: the values at its beginning. */
static struct rec_edge begin_at(const struct rec_edge *so_far, uint64_t moment) {
	struct rec_edge edge = *so_far;
	edge.time_ns = moment;
	edge.min_bytes = so_far->bytes;
	return edge;
}

/** End the running period, or make it longer. */
static void end_period(struct bins *b, const struct rec_edge *so_far, uint32_t n_stacks) {
	if (b->n == b->min_bins * 2) {
		coarsen(b, 1);
		return;
	}
	uint64_t allowed = allowed_intervals(b, so_far, n_stacks);
	if (b->n % 2 == 0 && b->n >= 4 && b->n_intervals > allowed) {
		b->levels = b->levels ? b->levels : levels_wanted(b, allowed);
		if (b->n % (1u << b->levels) == 0 || b->n_intervals > b->max_intervals) {
			coarsen(b, b->n % (1u << b->levels) == 0 ? b->levels : 1);
			return;
		}
	}
	reserve_scratch(b, b->mark);
	reserve_intervals(b, b->n_intervals + b->mark);
	append_settled(b);
	b->edges[b->n] = bins_edge_at(b, b->period_end);
	b->edge_times[b->n] = b->running.time_ns;
	b->n++;
	b->running = begin_at(so_far, b->period_end);
	b->running_edge = b->period_end;
	b->period_end = ((uint64_t)b->n + 1) << b->shift;
}

/** End the running point, or make its period longer. */
static void end_point(struct bins *b, const struct rec_edge *so_far) {
	if (b->n_curve == b->min_bins * 2) {
		b->n_curve /= 2;
		b->curve_shift++;
		for (uint32_t j = 0; j < b->n_curve; j++) {
			(void)join(&b->curve[j], &b->curve[2 * j], &b->curve[2 * j + 1]);
		}
	} else {
		b->curve[b->n_curve++] = bins_point_at(b, b->curve_end);
		b->point = begin_at(so_far, b->curve_end);
	}
	b->curve_end = ((uint64_t)b->n_curve + 1) << b->curve_shift;
}

void bins_advance(struct bins *b, const struct rec_edge *so_far, uint32_t n_stacks) {
	LOWER_TO(b->running.min_bytes, b->point.min_bytes);
	if (b->period_end == b->curve_end) {
		end_period(b, so_far, n_stacks);
	}
	end_point(b, so_far);
}

struct rec_edge bins_edge_at(const struct bins *b, uint64_t end_ns) {
	struct rec_edge edge = b->running;
	edge.end_ns = end_ns;
	LOWER_TO(edge.min_bytes, b->point.min_bytes);
	return edge;
}

struct rec_edge bins_point_at(const struct bins *b, uint64_t end_ns) {
	struct rec_edge point = b->point;
	point.end_ns = end_ns;
	return point;
}

struct rec_edge *bins_copy_edges(struct arena *arena, const struct rec_edge *ended, uint32_t n,
		struct rec_edge running) {
	struct rec_edge *edges = arena_new(arena, struct rec_edge, (size_t)n + 1);
	memcpy(edges, ended, n * sizeof *edges);
	edges[n] = running;
	return edges;
}

void bins_copy_log(const struct bins *b, struct bins *log) {
	*log = (struct bins){.n = b->n};
	bins_reserve(log, b->n_log + 1);
	if (b->n_log) {
		memcpy(log->log, b->log, b->n_log * sizeof *b->log);
	}
	COPY_FIELDS(log, b, n_log, mark);
	compact_log(log);
}
