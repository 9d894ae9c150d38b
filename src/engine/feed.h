// SPDX-License-Identifier: MIT
#pragma once
/**
 * Passes events to an aggregate through a thread: it applies batches while the caller fills more.
 *
 *     feed_init(&f, aggregate);
 *     *feed_next(&f) = event;       for each event,
 *     if (feed_is_full(&f)) {
 *         feed_pass(&f);
 *     }
 *     feed_drain(&f);               all applied: the aggregate may be queried
 *
 * One thread calls. The aggregate is its own from feed_drain to the next feed_pass.
 */

#include "engine/aggregate.h"

enum { FEED_BATCH = 512, FEED_AHEAD = 16 };

struct feed {
	struct aggregate *aggregate; // may be exchanged after feed_drain
	struct trace_event *events;  // the batch being filled
	size_t n;                    // events in it
	struct feed_worker *worker;
};

/** Takes ownership of the aggregate. */
void feed_init(struct feed *f, struct aggregate *aggregate);

/** Destroys the aggregate, too. */
void feed_finish(struct feed *f);

/** Where the next event goes. */
static inline struct trace_event *feed_next(struct feed *f) {
	__builtin_prefetch(&f->events[f->n + FEED_AHEAD], 1); // the other core has it
	return &f->events[f->n++];
}

static inline bool feed_is_full(const struct feed *f) {
	return f->n == FEED_BATCH;
}

/** Hand the batch to the thread (the first call starts it); wait for room. Else as feed_drain. */
void feed_pass(struct feed *f);

/** Wait until all events are applied; the caller applies the last batch. */
void feed_drain(struct feed *f);
