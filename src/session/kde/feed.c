// SPDX-License-Identifier: MIT
/*
 * Passes events to an aggregate by a thread of its own. A ring of batches: the caller fills number
 * n_passed, the thread digests number n_digested.
 *
 *      | free | queued | queued | being filled | free |
 *             ^ n_digested      ^ n_passed
 *
 * The thread begins when the first batch is full: what fits into one is digested by the caller, and
 * so is all where there is one core, on which two threads would only wait for each other. Who has
 * to wait goes on when half the ring is there for it: to wake a thread costs as much as some
 * hundred events.
 */
#include "base/parallel.h"
#include "session/kde/parts.h"

enum { N_BATCHES = 8, HALF = N_BATCHES / 2 };

struct batch {
	struct trace_event events[FEED_BATCH];
	size_t n;
	struct aggregate *aggregate;
};

struct feed_worker {
	pthread_mutex_t lock;   // of the numbers and what follows them
	pthread_cond_t changed; // one of the two waits, never both
	uint64_t n_passed, n_digested;
	uint64_t awaited; // the caller waits until no more than these are queued
	bool is_urgent;   // it does, and passes nothing meanwhile
	bool is_over, has_failed;
	struct err err;

	bool may_have_thread, has_thread;
	pthread_t thread;
	struct batch batches[N_BATCHES];
};

static struct batch *batch_at(struct feed_worker *w, uint64_t number) {
	return &w->batches[number % N_BATCHES];
}

static bool digest(const struct batch *b, struct err *err) {
	size_t done;
	return aggregate_events(b->aggregate, b->events, b->n, &done, err);
}

// ---- the thread

static uint64_t n_queued(const struct feed_worker *w) {
	return w->n_passed - w->n_digested;
}

/** Wait for the next batch. NULL: it is over. */
static struct batch *next_batch(struct feed_worker *w) {
	LOCKED(&w->lock);
	uint64_t enough = n_queued(w) ? 1 : HALF;
	while (n_queued(w) < (w->is_urgent ? 1 : enough) && !w->is_over) {
		pthread_cond_wait(&w->changed, &w->lock);
	}
	return w->is_over ? NULL : batch_at(w, w->n_digested);
}

static void note_digested(struct feed_worker *w, bool ok, const struct err *err) {
	LOCKED(&w->lock);
	if (!ok && !w->has_failed) {
		w->has_failed = true;
		w->err = *err;
	}
	w->n_digested++;
	if (w->is_urgent && n_queued(w) <= w->awaited) {
		pthread_cond_signal(&w->changed);
	}
}

static void *work(void *user) {
	struct feed_worker *w = user;
	for (struct batch *batch; (batch = next_batch(w));) {
		struct err err = {0};
		bool ok = digest(batch, &err);
		note_digested(w, ok, &err);
	}
	return NULL;
}

// ---- the caller

/** Wait until at most `most` batches are queued. False: one has failed. */
static bool wait_for(struct feed_worker *w, uint64_t most, struct err *err) {
	LOCKED(&w->lock);
	w->awaited = most;
	w->is_urgent = n_queued(w) > most;
	if (w->is_urgent) {
		pthread_cond_signal(&w->changed);
	}
	while (n_queued(w) > most) {
		pthread_cond_wait(&w->changed, &w->lock);
	}
	w->is_urgent = false;
	if (w->has_failed && err) {
		*err = w->err;
	}
	return !w->has_failed;
}

/** True: the ring is full. */
static bool pass(struct feed_worker *w) {
	LOCKED(&w->lock);
	w->n_passed++;
	if (n_queued(w) == HALF) {
		pthread_cond_signal(&w->changed);
	}
	return n_queued(w) == N_BATCHES;
}

bool feed_init(struct feed *f, struct aggregate *aggregate, struct err *err) {
	struct feed_worker *w = calloc(1, sizeof *w);
	*f = (struct feed){0};
	if (!w) {
		return err_memory(err);
	}
	f->aggregate = aggregate;
	f->worker = w;
	w->may_have_thread = parallel_cores() > 1;
	pthread_mutex_init(&w->lock, NULL);
	pthread_cond_init(&w->changed, NULL);
	f->events = batch_at(w, 0)->events;
	return true;
}

void feed_finish(struct feed *f) {
	FREED struct feed_worker *w = f ? f->worker : NULL;
	if (!w) {
		return;
	}
	if (w->has_thread) {
		pthread_mutex_lock(&w->lock);
		w->is_over = true;
		pthread_cond_signal(&w->changed);
		pthread_mutex_unlock(&w->lock);
		pthread_join(w->thread, NULL);
	}
	pthread_cond_destroy(&w->changed);
	pthread_mutex_destroy(&w->lock);
	*f = (struct feed){0};
}

bool feed_pass(struct feed *f, struct err *err) {
	struct feed_worker *w = f->worker;
	struct batch *batch = batch_at(w, w->n_passed); // n_passed is ours alone to change
	batch->n = f->n;
	batch->aggregate = f->aggregate;
	f->n = 0;
	if (w->may_have_thread && !w->has_thread) {
		w->has_thread = pthread_create(&w->thread, NULL, work, w) == 0;
	}
	if (!w->has_thread) {
		return digest(batch, err);
	}
	bool is_full = pass(w);
	f->events = batch_at(w, w->n_passed)->events;
	return wait_for(w, is_full ? HALF : N_BATCHES - 1, err);
}

bool feed_drain(struct feed *f, struct err *err) {
	struct feed_worker *w = f->worker;
	if (f->n > 0 && w->has_thread) {
		return feed_pass(f, err) && wait_for(w, 0, err);
	}
	size_t n = f->n, done;
	f->n = 0;
	return wait_for(w, 0, err) && aggregate_events(f->aggregate, f->events, n, &done, err);
}
