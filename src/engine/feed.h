// SPDX-License-Identifier: MIT
#pragma once
/**
 * Passes events to an aggregate by a thread: it applies batches while the caller fills more.
 *
 *     feed_init(&f, aggregate);
 *     *feed_next(&f) = event;       for each event,
 *     if (feed_is_full(&f)) {
 *         feed_pass(&f);
 *     }
 *     feed_drain(&f);               all is applied: the aggregate may be asked
 *
 * All calls are one thread's, and so is the aggregate between a feed_drain and the next feed_pass.
 */

#include "engine/aggregate.h"

enum { FEED_BATCH = 512, FEED_AHEAD = 16 };

struct feed {
	struct aggregate *aggregate; // may be exchanged after feed_drain
	struct trace_event *events;  // the batch that is being filled
	size_t n;                    // events in it
	struct feed_worker *worker;
};

/** The aggregate is the feed's from now on. */
void feed_init(struct feed *f, struct aggregate *aggregate);

/** Ends the aggregate, too. */
void feed_finish(struct feed *f);

/** The place of the next event. */
static inline struct trace_event *feed_next(struct feed *f) {
	__builtin_prefetch(&f->events[f->n + FEED_AHEAD], 1); // the other core has it
	return &f->events[f->n++];
}

static inline bool feed_is_full(const struct feed *f) {
	return f->n == FEED_BATCH;
}

/**
 * Hand over the batch, to a thread that is started by the first one; waits for room. Where there is
 * no thread, as on a single core, it is as feed_drain.
 */
void feed_pass(struct feed *f);

/** Wait until all events are applied, the last batch by the caller. */
void feed_drain(struct feed *f);
