// SPDX-License-Identifier: MIT
#pragma once
/**
 * Passes events to an aggregate. If there are several cores, a separate thread processes them while
 * the caller continues reading. The result is the same as without it: the order is that of the
 * calls. All functions are called by one thread:
 *
 *     feed_init(&f, aggregate, &err);
 *     *feed_next(&f) = event;                        for each event,
 *     feed_is_full(&f) && !feed_pass(&f, &err)       and then this
 *     feed_drain(&f, &err);                          all is digested: the aggregate may be asked
 */

#include "engine/aggregate.h"

enum { FEED_BATCH = 2048, FEED_AHEAD = 16 };

struct feed {
	struct aggregate *aggregate; // the caller's; another one only after feed_drain
	struct trace_event *events;  // the batch that is being filled
	size_t n;                    // events in it
	struct feed_worker *worker;
};

/** False: no memory; feed_finish all the same. */
bool feed_init(struct feed *f, struct aggregate *aggregate, struct err *err);

/** What was not drained may be lost. */
void feed_finish(struct feed *f);

/** The place of the next event. */
static inline struct trace_event *feed_next(struct feed *f) {
	__builtin_prefetch(&f->events[f->n + FEED_AHEAD], 1); // the other core has it
	return &f->events[f->n++];
}

static inline bool feed_is_full(const struct feed *f) {
	return f->n == FEED_BATCH;
}

/** Hand over the batch; waits if too many are queued. False: an earlier one ran out of memory. */
bool feed_pass(struct feed *f, struct err *err);

/** Wait until all events are processed. False: out of memory. */
bool feed_drain(struct feed *f, struct err *err);
