// SPDX-License-Identifier: MIT
/* Keeps the file up to date: `writing` locks the writer, `lock` what two threads hand over. */
#include "base/parallel.h"
#include "collector/file/output.h"
#include "sys/clock.h"

enum { STATE_GROWTH = 4 }; // the next state may be so many times larger, and still find its memory

struct keeper {
	struct output *output;
	uint64_t events_budget;
	pthread_t thread;

	pthread_mutex_t writing; // held around every use of the writer
	struct trace_writer *writer;

	pthread_mutex_t lock; // guards what follows
	pthread_cond_t changed;
	struct recording *given;   // NULL: nothing to do
	struct recording *written; // the last one, whose memory is to be used again; or NULL
	bool is_busy, is_ending;
	struct keeper_cost cost;
	struct err failure;
	bool failure_is_told;
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
	k->detail_ends_ns = k->detail_ends_ns ? k->detail_ends_ns : r->meta.duration_ns;
	if (!r->quality.detail_ends_ns) {
		r->quality.detail_ends_ns = k->detail_ends_ns;
	}
	*is_narrowed = trace_writer_narrow(k->writer, r, NULL);
	return false;
}

static void *run(void *user) {
	struct keeper *k = user;
	(void)pthread_mutex_lock(&k->lock);
	for (;;) {
		while (!k->given && !k->is_ending) {
			(void)pthread_cond_wait(&k->changed, &k->lock);
		}
		if (!k->given) {
			break;
		}
		struct recording *r = k->given;
		k->given = NULL;
		(void)pthread_mutex_unlock(&k->lock);

		uint64_t start_ns = clock_now_ns();
		uint64_t start_cpu_ns = clock_thread_cpu_ns();
		struct err err = {0};
		(void)pthread_mutex_lock(&k->writing);
		bool is_narrowed;
		bool ok = write_state(k, r, &is_narrowed, &err);
		(void)pthread_mutex_unlock(&k->writing);

		(void)pthread_mutex_lock(&k->lock);
		k->written = r;
		if (!ok && k->failure.code == ERR_NONE) {
			k->failure = err;
		}
		k->cost.wall_ns = clock_now_ns() - start_ns;
		k->cost.cpu_ns = clock_thread_cpu_ns() - start_cpu_ns;
		k->is_busy = false;
		(void)pthread_cond_broadcast(&k->changed);
	}
	(void)pthread_mutex_unlock(&k->lock);
	return NULL;
}

struct keeper *keeper_create(struct output *output, uint64_t events_budget, struct err *err) {
	struct keeper *k = calloc(1, sizeof *k);
	if (!k) {
		return err_memory_null(err);
	}
	k->output = output;
	k->events_budget = events_budget;
	(void)pthread_mutex_init(&k->writing, NULL);
	(void)pthread_mutex_init(&k->lock, NULL);
	(void)pthread_cond_init(&k->changed, NULL);
	k->writer = trace_writer_create(output_sink(output), err);
	if (k->writer && events_budget > 0) {
		trace_writer_set_event_budget(k->writer, events_budget);
	}
	int why = k->writer ? pthread_create(&k->thread, NULL, run, k) : 0;
	bool ok = k->writer && (why == 0 || err_system(err, why, "cannot start a thread"));
	if (!ok) {
		trace_writer_destroy(k->writer);
		free(k);
	}
	return ok ? k : NULL;
}

static void end_thread(struct keeper *k) {
	(void)pthread_mutex_lock(&k->lock);
	k->is_ending = true;
	(void)pthread_cond_broadcast(&k->changed);
	(void)pthread_mutex_unlock(&k->lock);
	(void)pthread_join(k->thread, NULL);
}

void keeper_destroy(struct keeper *k) {
	if (!k) {
		return;
	}
	if (!k->is_ending) {
		end_thread(k);
	}
	recording_finish(k->written);
	free(k->written);
	trace_writer_destroy(k->writer);
	(void)pthread_mutex_destroy(&k->writing);
	(void)pthread_mutex_destroy(&k->lock);
	(void)pthread_cond_destroy(&k->changed);
	free(k);
}

bool keeper_is_ready(struct keeper *k) {
	LOCKED(&k->lock);
	return !k->is_busy;
}

void keeper_wait(struct keeper *k) {
	LOCKED(&k->lock);
	while (k->is_busy) {
		(void)pthread_cond_wait(&k->changed, &k->lock);
	}
}

struct keeper_cost keeper_cost(struct keeper *k) {
	LOCKED(&k->lock);
	return k->cost;
}

struct recording *keeper_take(struct keeper *k) {
	(void)pthread_mutex_lock(&k->lock);
	struct recording *r = k->written;
	k->written = NULL;
	(void)pthread_mutex_unlock(&k->lock);
	if (r) {
		recording_reset(r);
	} else if ((r = calloc(1, sizeof *r))) {
		r->arena.growth = STATE_GROWTH;
	}
	return r;
}

void keeper_give(struct keeper *k, struct recording *r) {
	LOCKED(&k->lock);
	k->given = r;
	k->is_busy = true;
	(void)pthread_cond_broadcast(&k->changed);
}

bool keeper_events(struct keeper *k, const struct trace_event *events, size_t n, struct err *err) {
	LOCKED(&k->writing);
	return trace_writer_events(k->writer, events, n, err);
}

bool keeper_failure(struct keeper *k, struct err *err) {
	LOCKED(&k->lock);
	bool is_news = k->failure.code != ERR_NONE && !k->failure_is_told;
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
	end_thread(k);
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
