// SPDX-License-Identifier: MIT
/*
 * A bounded ring of batches. Waking costs as much as a thousand events, so waiters are woken for
 * several batches: the thread when a quarter of the ring is full, the caller when half is free.
 */
#include "engine/feed.h"

#include "base/parallel.h"

enum { BATCHES = 64 };

struct feed_worker {
	bool has_thread;
	pthread_t thread;

	pthread_mutex_t lock; // guards what follows
	pthread_cond_t given, done;
	uint64_t n_given, n_done;
	uint64_t wanted; // the caller waits until this many are done
	bool is_working; // the thread, on the next one
	bool is_claimed; // the caller will apply the rest
	bool is_ending;

	struct aggregate *aggregate;
	struct batch { // from n_done to n_given the thread's, the others the caller's
		size_t n;
		struct trace_event events[FEED_BATCH];
	} batches[BATCHES];
};

static void apply_next(const struct feed_worker *w) {
	const struct batch *b = &w->batches[w->n_done % BATCHES];
	aggregate_events(w->aggregate, b->events, b->n);
}

static void *run(void *user) {
	struct feed_worker *w = user;
	LOCKED(&w->lock);
	while (!w->is_ending) {
		if (w->n_given == w->n_done || w->is_claimed) {
			(void)pthread_cond_wait(&w->given, &w->lock);
			continue;
		}
		w->is_working = true;
		(void)pthread_mutex_unlock(&w->lock);
		apply_next(w);
		(void)pthread_mutex_lock(&w->lock);
		w->is_working = false;
		if (++w->n_done == w->wanted || w->is_claimed) {
			(void)pthread_cond_signal(&w->done);
		}
	}
	return NULL;
}

void feed_init(struct feed *f, struct aggregate *aggregate) {
	struct feed_worker *w = memory_new(1, sizeof *w);
	*f = (struct feed){.aggregate = aggregate, .events = w->batches[0].events, .worker = w};
	(void)pthread_mutex_init(&w->lock, NULL);
	(void)pthread_cond_init(&w->given, NULL);
	(void)pthread_cond_init(&w->done, NULL);
}

void feed_finish(struct feed *f) {
	FREED struct feed_worker *w = f ? f->worker : NULL;
	if (w && w->has_thread) {
		(void)pthread_mutex_lock(&w->lock);
		w->is_ending = true;
		(void)pthread_cond_signal(&w->given);
		(void)pthread_mutex_unlock(&w->lock);
		(void)pthread_join(w->thread, NULL);
	}
	if (f) {
		aggregate_destroy(f->aggregate);
		*f = (struct feed){0};
	}
}

void feed_pass(struct feed *f) {
	struct feed_worker *w = f->worker;
	w->has_thread = w->has_thread ||
			(parallel_cores() > 1 && pthread_create(&w->thread, NULL, run, w) == 0);
	if (!w->has_thread) {
		feed_drain(f);
		return;
	}
	LOCKED(&w->lock);
	if (w->n_given == w->n_done) {
		w->aggregate = f->aggregate;
	}
	w->batches[w->n_given++ % BATCHES].n = f->n;
	uint64_t n_waiting = w->n_given - w->n_done;
	w->wanted = n_waiting == BATCHES ? w->n_given - BATCHES / 2 : 0;
	if (!w->is_working && n_waiting >= BATCHES / 4) {
		(void)pthread_cond_signal(&w->given);
	}
	while (w->n_done < w->wanted) {
		(void)pthread_cond_wait(&w->done, &w->lock);
	}
	f->n = 0;
	f->events = w->batches[w->n_given % BATCHES].events;
}

// The thread need not run for this: it may wait long for a processor
void feed_drain(struct feed *f) {
	struct feed_worker *w = f->worker;
	LOCKED(&w->lock);
	w->is_claimed = true;
	while (w->is_working) {
		(void)pthread_cond_wait(&w->done, &w->lock);
	}
	w->is_claimed = false;
	for (; w->n_done < w->n_given; w->n_done++) {
		apply_next(w);
	}
	aggregate_events(f->aggregate, f->events, f->n);
	f->n = 0;
}
