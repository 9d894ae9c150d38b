// SPDX-License-Identifier: MIT
#pragma once

/**
 * The live half of the engine: events in, exact values out, in bounded memory. It pairs frees with
 * allocations, keeps per stack what PRODUCT's words mean, the composition at the peak, and
 * intervals over edges of the time axis, so that no event needs to be kept. One thread. It
 * knows no file, clock or process.
 *
 * The rules, for every reader of figures:
 *  - a realloc is one free and one allocation at one moment (its MOVED event), never both sizes at
 *    once; it does not make its old block temporary. Between REALLOC and MOVED the old block is
 *    alive but has no address.
 *  - peak: the largest sum of live sizes, at the first moment it was reached.
 *  - temporary: freed, by any thread, while the allocating thread has made no other allocation.
 *  - short-lived (churn): freed within 16 allocations of its thread, or within 1 ms.
 *  - an allocation at an address that is alive ends the old block first (a free was missed:
 *    quality.double_allocations); a free of an unknown address counts in quality.unknown_frees
 *    and changes nothing else.
 *  - time is a label: it never falls; a smaller one is raised to the last (time_corrections).
 *    Two events of one time are told apart by their order.
 */

#include "base/err.h"
#include "trace/recording.h"
#include "trace/trace.h"

struct aggregate_limits {
	uint32_t min_bins;     // 512: edges are halved in number when there are twice as many
	uint32_t max_entries;  // 4 Mi interval entries: beyond it, bins are halved below min_bins too
	uint32_t max_sizes_per_stack; // 64: beyond it sizes of that stack are counted in log2 classes
};

/** NULL limits: the defaults above. NULL: no memory. */
struct aggregate *aggregate_create(const struct aggregate_limits *limits, struct err *err);
void aggregate_destroy(struct aggregate *a);

/**
 * Digest a batch in order. `thread` of an event is an id given by aggregate_thread. Node ids are
 * the caller's; a stack record is made for each node that allocates. False: out of memory;
 * the aggregate stays valid and has digested a prefix of the batch (`*done` events).
 */
bool aggregate_events(struct aggregate *a, const struct trace_event *events, size_t n, size_t *done,
		struct err *err);

/** A new thread (ids rise from 1); 0: out of memory. */
uint32_t aggregate_thread(struct aggregate *a, uint32_t tid, uint32_t image, uint64_t now_ns);

/** No event of this thread will come any more: pending reallocs are undone. */
void aggregate_thread_ended(struct aggregate *a, uint32_t thread, uint64_t now_ns);

/** The process image was replaced (exec): all its blocks are gone; they count as never freed by
 * nobody - see docs/trace-format.md: freed at the exec, not temporary. */
void aggregate_exec(struct aggregate *a, uint64_t now_ns);

/** Live figures, for progress lines and samples. */
struct aggregate_now {
	uint64_t live_bytes, live_blocks, peak_bytes, allocations, events;
	uint32_t n_stacks, n_edges;
	uint64_t n_entries;
	uint64_t memory_bytes; // what the aggregate itself takes
};
struct aggregate_now aggregate_now(const struct aggregate *a);

/**
 * Write the state as of `now_ns` into `out`: summary (its counting part), quality (its part),
 * stacks (with `node`), edges (the running period closed as if it ended now), intervals, sizes,
 * threads, handovers. Arrays go to out->arena. The aggregate goes on unchanged.
 */
bool aggregate_snapshot(const struct aggregate *a, uint64_t now_ns, struct recording *out,
		struct err *err);
