// SPDX-License-Identifier: MIT
/* Keeps the file up to date: a thread of its own writes each state. */
#include "base/parallel.h"
#include "collector/file/output.h"

enum { STATE_GROWTH = 4 }; // how much larger the next state may be and still find its memory

struct keeper {
	struct output *output;
	uint64_t events_budget;
	bool failure_is_told;
	pthread_mutex_t writing; // held around every use of the writer
	struct trace_writer *writer;
	pthread_t thread; // writes `state`, or has
	bool has_thread;

	// The rest is the thread's while it writes
	_Atomic bool is_writing;
	struct recording *state; // or NULL; once written, its memory is reused
	struct keeper_cost cost;
	struct err failure;
	uint64_t detail_ends_ns; // 0: the last state is in the file with all its detail
};

/** Write the state; if it does not fit, at least its totals: then *is_narrowed. */
static bool write_state(struct keeper *k, struct recording *r, bool *is_narrowed, struct err *err) {
	*is_narrowed = false;
	r->quality.events_dropped = trace_writer_events_dropped(k->writer);
	if (trace_writer_checkpoint(k->writer, r, err)) {
		k->detail_ends_ns = 0;
		return true;
	}
	k->detail_ends_ns = k->detail_ends_ns ?: r->meta.duration_ns;
	r->quality.detail_ends_ns = r->quality.detail_ends_ns ?: k->detail_ends_ns;
	*is_narrowed = trace_writer_narrow(k->writer, r, NULL);
	return false;
}

static void *run(void *user) {
	struct keeper *k = user;
	uint64_t start_ns = clock_now_ns(), start_cpu_ns = clock_thread_cpu_ns();
	struct err err = {0};
	bool is_narrowed;
	(void)pthread_mutex_lock(&k->writing);
	bool ok = write_state(k, k->state, &is_narrowed, &err);
	(void)pthread_mutex_unlock(&k->writing);
	if (!ok && k->failure.code == ERR_NONE) {
		k->failure = err;
	}
	k->cost.wall_ns = clock_now_ns() - start_ns;
	k->cost.cpu_ns = clock_thread_cpu_ns() - start_cpu_ns;
	atomic_store(&k->is_writing, false);
	return NULL;
}

struct keeper *keeper_create(struct output *output, uint64_t events_budget, struct err *err) {
	struct keeper *k = memory_new(1, sizeof *k);
	k->output = output;
	k->events_budget = events_budget;
	(void)pthread_mutex_init(&k->writing, NULL);
	k->writer = trace_writer_create(output_sink(output), events_budget, err);
	if (!k->writer) {
		keeper_destroy(k);
		return NULL;
	}
	return k;
}

void keeper_destroy(struct keeper *k) {
	if (!k) {
		return;
	}
	keeper_wait(k);
	recording_finish(k->state);
	free(k->state);
	trace_writer_destroy(k->writer);
	(void)pthread_mutex_destroy(&k->writing);
	free(k);
}

bool keeper_is_ready(const struct keeper *k) {
	return !atomic_load(&k->is_writing);
}

void keeper_wait(struct keeper *k) {
	if (k->has_thread) {
		(void)pthread_join(k->thread, NULL);
		k->has_thread = false;
	}
}

struct keeper_cost keeper_cost(const struct keeper *k) {
	return k->cost;
}

struct recording *keeper_take(struct keeper *k) {
	keeper_wait(k);
	struct recording *r = k->state;
	k->state = NULL;
	if (r) {
		recording_reset(r);
	} else {
		r = memory_new(1, sizeof *r);
		r->arena.growth = STATE_GROWTH;
	}
	return r;
}

void keeper_give(struct keeper *k, struct recording *r) {
	k->state = r;
	atomic_store(&k->is_writing, true);
	k->has_thread = pthread_create(&k->thread, NULL, run, k) == 0;
	if (!k->has_thread) {
		(void)run(k);
	}
}

bool keeper_events(struct keeper *k, const struct trace_event *events, size_t n, struct err *err) {
	LOCKED(&k->writing);
	return trace_writer_events(k->writer, events, n, err);
}

bool keeper_failure(struct keeper *k, struct err *err) {
	bool is_news = !k->failure_is_told && keeper_is_ready(k) && k->failure.code != ERR_NONE;
	if (is_news) {
		*err = k->failure;
		k->failure_is_told = true;
	}
	return is_news;
}

struct whole {
	struct keeper *keeper;
	const struct recording *recording;
	struct trace_source old;
};

static bool write_whole(void *user, struct trace_sink sink, struct err *err) {
	struct whole *w = user;
	bool has_events = w->keeper->events_budget > 0;
	return trace_write_whole(sink, w->recording, has_events ? w->keeper->writer : NULL,
			has_events ? &w->old : NULL, err);
}

bool keeper_finish(struct keeper *k, struct recording *r, struct err *err) {
	keeper_wait(k);
	struct whole whole = {k, r, output_source(k->output)};
	struct err why = {0};
	bool is_narrowed = false;
	r->quality.events_dropped = trace_writer_events_dropped(k->writer);
	if (output_replace(k->output, write_whole, &whole, &why)) {
		return true;
	}
	bool ok = write_state(k, r, &is_narrowed, err) || is_narrowed;
	if (ok && !output_is_there(k->output)) {
		*err = why;
		ok = false;
	}
	return ok;
}
