// SPDX-License-Identifier: MIT
#pragma once
/**
 * Aggregates events while recording: exact figures in bounded memory. Pairs frees with allocations
 * and keeps the figures of each stack, the composition of the peak, and the intervals between edges
 * of the time axis, storing no events. Single-threaded; uses no files, clocks or processes.
 *
 * Definitions:
 *  - A realloc is one free and one allocation at the moment of its MOVED event; both sizes never
 *    count at once, and the old block is not temporary. Between REALLOC and MOVED the old block is
 *    live but has no address.
 *  - peak: the largest sum of live sizes, at the first moment it was reached.
 *  - temporary: freed, by any thread, before the allocating thread made another allocation.
 *  - short-lived (churn): freed within 16 further allocations of its thread, or within 1 ms. Every
 *    temporary block is short-lived; a block ended by realloc may be.
 *  - An allocation at a live address first ends the old block: a free was missed
 *    (quality.double_allocations), and counts as that thread's, at that moment. A free of an
 *    unknown address counts in quality.unknown_frees and changes nothing else. A realloc of one
 *    does so at its MOVED; its new block is an ordinary allocation. If a realloc is answered by
 *    STAYED, because the recording or its thread ended, but the address has been reused meanwhile,
 *    the block was moved and ends as if freed.
 *  - An event's time is a label that never decreases: a smaller one is raised to the last
 *    (time_corrections). To keep the order of events with equal labels, each event gets a moment of
 *    its own, in ns: the label, or the first number after the previous moment, skipping multiples
 *    of 2^17 (the shortest period). All times in the recording are moments.
 *  - A block ended by an exec is neither freed nor live (summary.gone_at_exec). One that a process
 *    of a tree left behind at its end counts as live (aggregate_end_range).
 * docs/engine.md describes the algorithms and their cost.
 */

#include "trace/trace.h"

struct aggregate_limits {
	uint32_t min_bins;    // 512: at twice as many, pairs of edges are joined
	uint32_t max_entries; // 2 Mi interval entries: beyond it, bins are halved even below min_bins;
						  // beyond half of it, if they stand for too few deaths (bins.h)
	uint32_t max_sizes_per_stack; // 64 counted exactly; the others in log2 classes
};

struct aggregate_limits aggregate_default_limits(void);

/** NULL: the default limits. */
struct aggregate *aggregate_create(const struct aggregate_limits *limits);
void aggregate_destroy(struct aggregate *a);

/**
 * Call before the first event: follow the rules of KDE's heaptrack, whose files have no threads and
 * a clock of 10 ms. A block is temporary if its free directly follows an allocation of the same
 * size and stack; also, as KDE's tools count, a free of the file's first size and stack directly
 * after another free. `is_told`: the caller knows which blocks are temporary and sets the size of
 * their FREE to 1. Churn is decided by the number of allocations alone.
 */
void aggregate_follow_kde(struct aggregate *a, bool is_told);

/**
 * Call before the first event: the caller pairs frees with allocations itself. An event's ptr is
 * then its block's number, from 1: a freed block's, or the lowest never used. No reallocs.
 */
void aggregate_expect_numbers(struct aggregate *a);

/** Process a batch in order. Threads come from aggregate_thread; node ids are the caller's. */
void aggregate_events(struct aggregate *a, const struct trace_event *events, size_t n);

/**
 * Add a thread and return its id, from 1; 0: there are 2^28 already. Events of thread 0 or of an
 * unknown id count for "no thread". Beyond some 2,000 threads, ended ones are merged, except the
 * 512 that allocated most; then a thread's index in the recording is no longer its id.
 */
uint32_t aggregate_thread(struct aggregate *a, uint32_t tid, uint32_t image, uint64_t now_ns);

/** Set or change its name, a string id of the caller's. Threads of one name may be merged. */
void aggregate_thread_name(struct aggregate *a, uint32_t thread, uint32_t name);

/** Is a realloc of this thread pending? Its block has no address then. */
bool aggregate_has_pending(const struct aggregate *a, uint32_t thread);

/** No more events of this thread will come: its pending reallocs are undone. */
void aggregate_thread_ended(struct aggregate *a, uint32_t thread, uint64_t now_ns);

/** exec replaced the process image: all its blocks end without a free (summary.gone_at_exec). */
void aggregate_exec(struct aggregate *a, uint64_t now_ns);

/**
 * End the blocks at addresses from `start` to below `end` (multiples of 16 within one region of
 * 4 MiB) as an exec would. `is_left`: their process has ended, so they were never freed: live in
 * the recording and in summary.left_blocks, but in no total from now on.
 */
void aggregate_end_range(struct aggregate *a, uint64_t start, uint64_t end, uint64_t now_ns,
		bool is_left);

/**
 * Track the highest total of live bytes from now on: the next call returns it, or `above_bytes` if
 * it was never exceeded. UINT64_MAX: stop tracking.
 */
uint64_t aggregate_watch(struct aggregate *a, uint64_t above_bytes);

/** The running totals that events change, without peak, frees and reallocs. */
const struct rec_summary *aggregate_sums(const struct aggregate *a, uint64_t *unknown_frees);

/**
 * Call before the first event when attaching, while the program's existing blocks are being
 * searched for: frees of unknown blocks are remembered from now on, for aggregate_old_blocks.
 */
void aggregate_expect_old_blocks(struct aggregate *a);

/**
 * Set the existing blocks, by rising address, with usable sizes; none if they could not be found. A
 * free of one, before or after this call, counts in summary.old_freed_blocks instead of
 * quality.unknown_frees, and has no other effect. Takes ownership of `blocks`, from malloc or NULL.
 */
void aggregate_old_blocks(struct aggregate *a, struct extent *blocks, size_t n);

/** Live figures, for progress lines and samples. */
struct aggregate_now {
	uint64_t live_bytes, live_blocks, peak_bytes, allocations, events;
	uint32_t n_stacks, n_edges;
	uint64_t n_entries;
	uint64_t memory_bytes; // an upper bound of what the aggregate itself uses
};
struct aggregate_now aggregate_now(const struct aggregate *a);

/**
 * Visit each live block that has an address, mostly by rising address. `stack` is a row of
 * recording.stacks; UINT32_MAX for blocks from before an attach, whose size is the usable one.
 */
void aggregate_live(const struct aggregate *a,
		void (*visit)(void *user, uint64_t ptr, uint64_t bytes, uint32_t stack), void *user);

/** The stack of a node, created if no event had it. */
uint32_t aggregate_stack(struct aggregate *a, uint32_t node);

uint32_t aggregate_node(const struct aggregate *a, uint32_t stack);

/** Is there such a live block? */
bool aggregate_has(const struct aggregate *a, uint64_t ptr, uint64_t bytes, uint32_t stack);

/** Was there ever a block in this range, or within 4 MiB of it? */
bool aggregate_ever_had(const struct aggregate *a, uint64_t start, uint64_t end);

/** There were no events until now: later ones count as of `now_ns` at the earliest. */
void aggregate_until(struct aggregate *a, uint64_t now_ns);

/**
 * Write the state as of `now_ns` into `out`: its parts of summary and quality, stacks (with
 * `node`), edges (the running period as if it ended now), intervals by stack, sizes, threads,
 * handovers. Arrays go to out->arena. The aggregate is unchanged.
 */
void aggregate_snapshot(const struct aggregate *a, uint64_t now_ns, struct recording *out);
