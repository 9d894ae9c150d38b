// SPDX-License-Identifier: MIT
/*
 * Passes events to an aggregate by a thread: it digests one batch while the caller fills the other,
 * and is joined before the next one begins. A batch is large enough to be worth a thread.
 *
 * What fits into one batch is digested by the caller, and so is all where there is one core, on
 * which two threads would only wait for each other.
 */
#include "base/parallel.h"
#include "session/kde/parts.h"

struct feed_worker {
	struct trace_event batches[2][FEED_BATCH];
	bool may_have_thread, has_thread;
	pthread_t thread;

	// What it digests, and what came of it: while there is a thread, the thread's alone
	struct aggregate *aggregate;
	const struct trace_event *events;
	size_t n;
	bool has_failed;
	struct err err;
};

static void *digest(void *user) {
	struct feed_worker *w = user;
	size_t done;
	w->has_failed |= !aggregate_events(w->aggregate, w->events, w->n, &done, &w->err);
	return NULL;
}

/** Until the thread is done. False: it, or an earlier one, has failed. */
static bool wait_for(struct feed_worker *w, struct err *err) {
	if (w->has_thread) {
		(void)pthread_join(w->thread, NULL);
		w->has_thread = false;
	}
	if (w->has_failed && err) {
		*err = w->err;
	}
	return !w->has_failed;
}

bool feed_init(struct feed *f, struct aggregate *aggregate, struct err *err) {
	struct feed_worker *w = calloc(1, sizeof *w);
	*f = (struct feed){0};
	if (!w) {
		return err_memory(err);
	}
	w->may_have_thread = parallel_cores() > 1;
	*f = (struct feed){.aggregate = aggregate, .worker = w, .events = w->batches[0]};
	return true;
}

void feed_finish(struct feed *f) {
	FREED struct feed_worker *w = f ? f->worker : NULL;
	if (w) {
		(void)wait_for(w, NULL);
		*f = (struct feed){0};
	}
}

bool feed_pass(struct feed *f, struct err *err) {
	struct feed_worker *w = f->worker;
	if (!wait_for(w, err)) {
		return false;
	}
	w->aggregate = f->aggregate;
	w->events = f->events;
	w->n = f->n;
	f->n = 0;
	w->has_thread = w->may_have_thread && pthread_create(&w->thread, NULL, digest, w) == 0;
	if (!w->has_thread) {
		(void)digest(w);
		return wait_for(w, err);
	}
	f->events = w->batches[f->events == w->batches[0]];
	return true;
}

bool feed_drain(struct feed *f, struct err *err) {
	size_t n = f->n, done;
	f->n = 0;
	return wait_for(f->worker, err) && aggregate_events(f->aggregate, f->events, n, &done, err);
}
