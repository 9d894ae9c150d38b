// SPDX-License-Identifier: MIT
#pragma once
/**
 * Aggregates events while recording: exact values in bounded memory. It pairs frees with
 * allocations, and stores the figures of each stack, the composition of the peak, and intervals
 * between edges of the time axis, so that no event needs to be kept. One thread. It uses no files,
 * clocks or processes.
 *
 * Definitions:
 *  - a realloc is one free and one allocation at one moment (its MOVED event), never both sizes at
 *    once; it does not make its old block temporary. Between REALLOC and MOVED the old block is
 *    alive but has no address.
 *  - peak: the largest sum of live sizes, at the first moment it was reached.
 *  - temporary: freed, by any thread, while the allocating thread has made no other allocation.
 *  - short-lived (churn): freed when its thread had made at most 16 further allocations, or after
 *    at most 1 ms. Every temporary block is one, a block that realloc ended may be one.
 *  - an allocation at an address that is alive ends the old block first (a free was missed:
 *    quality.double_allocations; the block counts as freed by that thread, at that moment); a free
 *    of an unknown address counts in quality.unknown_frees and changes nothing else. So does a
 *    realloc of one, at its MOVED; its new block is an allocation as any other.
 *    If a realloc is answered by STAYED, because the recording or its thread ended, but its block's
 *    address was given out meanwhile, the block has been moved, and ends as by a free.
 *  - time is a label: it never falls; a smaller one is raised to the last (time_corrections).
 *    Two events of one time are told apart by their order: each event has a moment of its own, in
 *    ns, the label or the least later number that follows the last event's moment and is not a
 *    multiple of 2^17 (the shortest period). All times in the recording are moments.
 *  - a block that an exec ended is neither freed nor live: it counts in summary.gone_at_exec. One
 *    that a process of a tree left behind at its end counts as live (aggregate_end_region).
 * docs/engine.md says how it works and what it costs.
 */

#include "trace/trace.h"

struct aggregate_limits {
	uint32_t min_bins;    // 512: edges are halved in number when there are twice as many
	uint32_t max_entries; // 2 Mi interval entries: beyond it, bins are halved below min_bins too;
						  // beyond half of it, if they stand for too few deaths (bins.h)
	uint32_t max_sizes_per_stack; // 64 are counted exactly; further ones in log2 classes
};

struct aggregate_limits aggregate_default_limits(void);

/** NULL limits: the defaults above. */
struct aggregate *aggregate_create(const struct aggregate_limits *limits);
void aggregate_destroy(struct aggregate *a);

/**
 * Before the first event: follow the rules of KDE's heaptrack for its files, whose events have no
 * thread and a clock of 10 ms. Temporary is a block whose free comes right behind an allocation of
 * the same size and stack, with no other event between; and, as its tools count, a free of the
 * file's first size and stack right behind another free. `is_told`: the caller knows better which
 * are, and says so by a FREE's size of 1. Churn goes by the number of allocations alone.
 */
void aggregate_follow_kde(struct aggregate *a, bool is_told);

/**
 * Before the first event: the caller pairs frees with allocations itself. An event's ptr is then
 * the number of its block: 1 is the first, and a new block has a number whose block was freed, or
 * the least that none had yet. There are no reallocs.
 */
void aggregate_expect_numbers(struct aggregate *a);

/**
 * Process a batch in order. `thread` of an event is an id returned by aggregate_thread. Node ids
 * are the caller's; a stack record is created for each node that allocates.
 */
void aggregate_events(struct aggregate *a, const struct trace_event *events, size_t n);

/**
 * A new thread (ids rise from 1); 0: there are 2^28. Events of thread 0 or of an id never given are
 * counted for "no thread". Beyond some 2,000 threads, ended ones are merged, but for the 512 that
 * allocated most: then a thread's index in the recording is no longer its id.
 */
uint32_t aggregate_thread(struct aggregate *a, uint32_t tid, uint32_t image, uint64_t now_ns);

/**
 * Its name, now or as it changes: a string id of the caller's. Threads of one name may be merged.
 */
void aggregate_thread_name(struct aggregate *a, uint32_t thread, uint32_t name);

/** Is a realloc of this thread pending? Its block has no address then. */
bool aggregate_has_pending(const struct aggregate *a, uint32_t thread);

/** No event of this thread will come any more: pending reallocs are undone. */
void aggregate_thread_ended(struct aggregate *a, uint32_t thread, uint64_t now_ns);

/**
 * The process image was replaced (exec): all its blocks end now, and nobody freed them
 * (summary.gone_at_exec).
 */
void aggregate_exec(struct aggregate *a, uint64_t now_ns);

/**
 * The blocks at the addresses from `start` on, a multiple of 4 MiB, up to the next one end as by an
 * exec. `is_left`: their process has ended, so each of them was never freed (live in the recording,
 * and summary.left_blocks), but is in no total from here on.
 */
void aggregate_end_region(struct aggregate *a, uint64_t start, uint64_t now_ns, bool is_left);

/**
 * From now on, note the highest total of live bytes that is above `above_bytes`. The next call
 * returns it, or `above_bytes`. UINT64_MAX: note none.
 */
uint64_t aggregate_watch(struct aggregate *a, uint64_t above_bytes);

/** Its running totals: those that events change, without peak, frees and reallocs. */
const struct rec_summary *aggregate_sums(const struct aggregate *a, uint64_t *unknown_frees);

/**
 * Call before the first event if the program was attached to: its existing blocks are being
 * searched for. From now on, frees of unknown blocks are remembered for aggregate_old_blocks.
 */
void aggregate_expect_old_blocks(struct aggregate *a);

/**
 * The existing blocks, ascending, with their usable sizes; none if they could not be found. A free
 * of one, before or after this call, counts in summary.old_freed_blocks instead of
 * quality.unknown_frees and has no other effect. `blocks` comes from malloc, or is NULL if there
 * are none; it is the aggregate's from now on.
 */
void aggregate_old_blocks(struct aggregate *a, struct extent *blocks, size_t n);

/** Live figures, for progress lines and samples. */
struct aggregate_now {
	uint64_t live_bytes, live_blocks, peak_bytes, allocations, events;
	uint32_t n_stacks, n_edges;
	uint64_t n_entries;
	uint64_t memory_bytes; // what the aggregate itself takes, at most
};
struct aggregate_now aggregate_now(const struct aggregate *a);

/**
 * Each live block that has an address; of those from before an attach the size is the usable one,
 * `stack` UINT32_MAX, else the row of recording.stacks. Mostly by rising address.
 */
void aggregate_live(const struct aggregate *a,
		void (*visit)(void *user, uint64_t ptr, uint64_t bytes, uint32_t stack), void *user);

/** The stack of a node, which no event needs to have. */
uint32_t aggregate_stack(struct aggregate *a, uint32_t node);

/** The node of a stack that was met. */
uint32_t aggregate_node(const struct aggregate *a, uint32_t stack);

/** Does such a block live that was met? */
bool aggregate_has(const struct aggregate *a, uint64_t ptr, uint64_t bytes, uint32_t stack);

/** Was a block ever in this range, or within 4 MiB of it? */
bool aggregate_ever_had(const struct aggregate *a, uint64_t start, uint64_t end);

/** Nothing has happened since the last event: later ones count as of `now_ns` at least. */
void aggregate_until(struct aggregate *a, uint64_t now_ns);

/**
 * Write the state as of `now_ns` into `out`: summary (its counting part), quality (its part),
 * stacks (with `node`), edges (the running period closed as if it ended now), intervals by
 * stack, sizes, threads, handovers. Arrays go to out->arena. The aggregate goes on unchanged.
 */
void aggregate_snapshot(const struct aggregate *a, uint64_t now_ns, struct recording *out);
