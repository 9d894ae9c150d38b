// SPDX-License-Identifier: MIT
/*
 * Threads hand blocks to each other as fast as they can while the collector puts their events in
 * order, in one process. Every block carries a serial number, and so does every event (in its
 * size field), so the row of events can be checked without trusting it:
 *
 *   ALLOC, MOVED   at an address that is empty
 *   FREE, REALLOC  at an address that holds the very serial
 *   in the end     live are exactly the serials that were allocated and not freed, as published
 *
 * What can disturb them: stalls between stamp and publication, threads frozen anywhere, signal
 * handlers that allocate, jumps out of handlers, threads that die between stamp and publication.
 *
 *   stress_order [-n EVENTS] [-t THREADS] [-a lifo|glibc] [-d stalls,freeze,signals,jumps,deaths]
 *                [-s SEED]
 */
#include "judge.h"
#include "sys/clock.h"
#include "writer.h"

#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

enum {
	N_PLACES = 64, // where blocks change hands
	BLOCK_BYTES = 64,
	POOL_BLOCKS = 1 << 16,
	MAX_THREADS = 4096,
};

enum { STALLS = 1, FREEZE = 2, SIGNALS = 4, JUMPS = 8, DEATHS = 16 };

static struct {
	uint64_t n_events;
	uint32_t n_threads;
	bool is_lifo;
	unsigned disturb;
	uint64_t seed;
} run = {.n_events = 2000000, .n_threads = 8, .is_lifo = true, .seed = 1};

struct block {
	struct block *next;
	uint32_t serial;
};

static _Atomic uint8_t *truth; // what was really done, by serial
static uint32_t n_truth;
static _Atomic uint32_t next_serial = 1;
static _Atomic(struct block *) places[N_PLACES];
static _Atomic uint64_t n_published, n_died, n_jumped, n_frozen, n_handled, n_stalled;
static struct segment segment;
static _Atomic bool is_over;

// ---- allocators

static struct block *pool;
static struct block *lifo_top;
static atomic_flag lifo_lock = ATOMIC_FLAG_INIT;
static _Thread_local volatile sig_atomic_t is_in_allocator;

static bool lock_lifo(bool may_wait) {
	while (atomic_flag_test_and_set_explicit(&lifo_lock, memory_order_acquire)) {
		if (!may_wait) {
			return false;
		}
		sched_yield();
	}
	return true;
}

static struct block *real_alloc(bool may_wait) {
	if (!run.is_lifo) {
		return malloc(BLOCK_BYTES);
	}
	is_in_allocator = 1;
	struct block *b = NULL;
	if (lock_lifo(may_wait)) {
		b = lifo_top;
		lifo_top = b ? b->next : NULL;
		atomic_flag_clear_explicit(&lifo_lock, memory_order_release);
	}
	is_in_allocator = 0;
	return b;
}

/** With the LIFO allocator: the caller has the lock, as a handler must know before it records. */
static void real_free(struct block *b) {
	if (!run.is_lifo) {
		is_in_allocator = 1;
		free(b);
		is_in_allocator = 0;
		return;
	}
	b->next = lifo_top;
	lifo_top = b;
}

static bool free_begins(bool may_wait) {
	if (!run.is_lifo || !may_wait) {
		return !run.is_lifo || lock_lifo(false);
	}
	return true;
}

// ---- threads

struct worker {
	pthread_t thread;
	struct writer writer;
	uint64_t random;
	_Atomic bool is_running, has_ended;
	volatile sig_atomic_t may_jump; // the main loop's jump buffer is filled, nothing is half done
	sigjmp_buf back;
};
static struct worker workers[MAX_THREADS];
static _Thread_local struct worker *self;

static uint64_t next_random(struct worker *w) {
	uint64_t x = w->random;
	x ^= x << 13;
	x ^= x >> 7;
	x ^= x << 17;
	return w->random = x;
}

static void disturb(struct worker *w) {
	if ((run.disturb & STALLS) && next_random(w) % 20000 == 0) {
		atomic_fetch_add(&n_stalled, 1);
		usleep(300);
	}
	if ((run.disturb & DEATHS) && next_random(w) % 50000 == 0) {
		atomic_fetch_add(&n_died, 1);
		atomic_store(&w->has_ended, true);
		pthread_exit(NULL);
	}
}

static void publish(struct worker *w, const struct writer_event *e, uint32_t serial, uint8_t what) {
	sig_atomic_t may_jump = w->may_jump;
	w->may_jump = 0;
	atomic_fetch_or_explicit(&truth[serial], what, memory_order_relaxed);
	writer_publish(&w->writer, e, serial, 0);
	atomic_fetch_add_explicit(&n_published, 1, memory_order_relaxed);
	w->may_jump = may_jump;
}

static void record(struct worker *w, enum wire_kind kind, struct block *b, uint32_t serial,
		uint8_t what, bool is_handler) {
	bool is_wide = serial % 64 == 7;
	struct writer_event e = writer_reserve(&w->writer, kind, (uintptr_t)b, is_wide);
	writer_stamp(&w->writer, &e);
	// A thread that dies after the real realloc would take the old block with it
	if (!is_handler && kind != KIND_MOVED) {
		disturb(w);
	}
	publish(w, &e, serial, what);
}

static struct block *alloc_block(struct worker *w, bool is_handler) {
	if (!writer_make_room(&w->writer, 3, !is_handler)) {
		return NULL;
	}
	struct block *b = real_alloc(!is_handler);
	if (!b) {
		return NULL;
	}
	uint32_t serial = atomic_fetch_add(&next_serial, 1);
	b->serial = serial;
	record(w, KIND_ALLOC, b, serial, TRUTH_ALLOC, is_handler);
	return b;
}

static bool free_block(struct worker *w, struct block *b, bool is_handler) {
	if (!writer_make_room(&w->writer, 3, !is_handler) || !free_begins(!is_handler)) {
		return false;
	}
	bool has_lock = run.is_lifo && is_handler;
	record(w, KIND_FREE, b, b->serial, TRUTH_FREE, is_handler);
	is_in_allocator = 1;
	if (run.is_lifo && !has_lock) {
		lock_lifo(true);
	}
	real_free(b);
	if (run.is_lifo) {
		atomic_flag_clear_explicit(&lifo_lock, memory_order_release);
	}
	is_in_allocator = 0;
	return true;
}

/** As a realloc that moves, stays in place, or fails. */
static struct block *realloc_block(struct worker *w, struct block *b) {
	if (!writer_make_room(&w->writer, 6, true)) {
		return NULL; // it is over
	}
	uint32_t old_serial = b->serial;
	record(w, KIND_REALLOC, b, old_serial, 0, false);
	if (next_random(w) % 8 == 0) {
		record(w, KIND_STAYED, b, old_serial, 0, true);
		return b;
	}
	// No jump from here on: nobody could tell what became of the old block
	sig_atomic_t may_jump = w->may_jump;
	w->may_jump = 0;
	struct block *moved = b;
	if (run.is_lifo && next_random(w) % 4 != 0) {
		is_in_allocator = 1;
		lock_lifo(true);
		moved = lifo_top ? lifo_top : b;
		if (lifo_top) {
			lifo_top = lifo_top->next;
			real_free(b);
		}
		atomic_flag_clear_explicit(&lifo_lock, memory_order_release);
		is_in_allocator = 0;
	} else if (!run.is_lifo) {
		moved = realloc(b, BLOCK_BYTES + next_random(w) % 256);
	}
	uint32_t serial = atomic_fetch_add(&next_serial, 1);
	moved->serial = serial;
	atomic_fetch_or(&truth[old_serial], TRUTH_FREE);
	record(w, KIND_MOVED, moved, serial, TRUTH_ALLOC, false);
	w->may_jump = may_jump;
	return moved;
}

static void give_away(struct worker *w, struct block *b, bool is_handler) {
	_Atomic(struct block *) *place = &places[next_random(w) % N_PLACES];
	struct block *old = atomic_exchange_explicit(place, b, memory_order_acq_rel);
	while (old && !free_block(w, old, is_handler) && !atomic_load(&is_over)) {
		place = &places[next_random(w) % N_PLACES]; // no way to free it here: pass it on
		old = atomic_exchange_explicit(place, old, memory_order_acq_rel);
	}
}

static void work_once(struct worker *w) {
	if (writer_make_room(&w->writer, 2, true)) {
		writer_label(&w->writer, clock_now_ns());
	}
	struct block *b;
	if (next_random(w) % 6 == 0) {
		b = atomic_exchange(&places[next_random(w) % N_PLACES], NULL);
		b = b ? realloc_block(w, b) : NULL;
	} else {
		b = alloc_block(w, false);
	}
	if (b) {
		give_away(w, b, false);
	}
}

static void *work(void *argument) {
	struct worker *w = argument;
	self = w;
	if (!writer_join(&w->writer, &segment, 1)) {
		fprintf(stderr, "no slot left\n");
		abort();
	}
	writer_take_first_epoch(&w->writer);
	atomic_store(&w->is_running, true);
	if (sigsetjmp(w->back, 1) != 0) {
		atomic_fetch_add(&n_jumped, 1);
	}
	(void)writer_recover(&w->writer);
	w->may_jump = 1;
	while (!atomic_load_explicit(&is_over, memory_order_relaxed)) {
		work_once(w);
	}
	w->may_jump = 0;
	atomic_store(&w->is_running, false);
	atomic_store(&w->has_ended, true);
	return NULL;
}

// ---- disturbers

static void allocate_in_handler(int signal_number) {
	(void)signal_number;
	struct worker *w = self;
	int saved = errno;
	if (w && atomic_load(&w->is_running)) {
		for (unsigned i = 0; i < 3; i++) {
			sig_atomic_t was = is_in_allocator;
			struct block *b = alloc_block(w, true);
			if (b) {
				give_away(w, b, true);
			}
			is_in_allocator = was;
		}
		atomic_fetch_add(&n_handled, 1);
		if ((run.disturb & JUMPS) && w->may_jump && !is_in_allocator && next_random(w) % 4 == 0) {
			w->may_jump = 0;
			siglongjmp(w->back, 1);
		}
	}
	errno = saved;
}

static void freeze(int signal_number) {
	(void)signal_number;
	int saved = errno;
	atomic_fetch_add(&n_frozen, 1);
	usleep(200 * 1000);
	errno = saved;
}

static void start_worker(struct worker *w) {
	atomic_store(&w->has_ended, false);
	if (pthread_create(&w->thread, NULL, work, w) != 0) {
		perror("pthread_create");
		abort();
	}
}

static void *disturb_all(void *unused) {
	(void)unused;
	uint64_t random = run.seed;
	for (unsigned i = 0; !atomic_load(&is_over); i++) {
		random = random * 6364136223846793005u + 1442695040888963407u;
		struct worker *w = &workers[(random >> 33) % run.n_threads];
		usleep(100);
		if (atomic_load(&w->has_ended)) {
			pthread_join(w->thread, NULL);
			start_worker(w);
		} else if (atomic_load(&w->is_running) && (run.disturb & FREEZE) && i % 1000 == 0) {
			pthread_kill(w->thread, SIGUSR2);
		} else if (atomic_load(&w->is_running) && (run.disturb & SIGNALS)) {
			pthread_kill(w->thread, SIGUSR1);
		}
	}
	return NULL;
}

// ---- the run

/** The kernel says that a thread is gone, of which TSan knows nothing: what it last said itself it does know. */
static void thread_ended(void *user, uint32_t thread) {
	for (unsigned i = 0; i < run.n_threads; i++) {
		(void)atomic_load(&workers[i].has_ended);
	}
	judge_sink.thread_ended(user, thread);
}

static void collect(struct order *o) {
	uint64_t last_ns = clock_now_ns();
	uint64_t seen = 0;
	while (judged.events < run.n_events) {
		segment_tick(&segment, clock_now_ns());
		if (order_round(o, clock_now_ns()) == 0) {
			segment_arm(&segment);
			if (order_round(o, clock_now_ns()) == 0) {
				segment_wait(&segment, order_rest_ns(o));
			}
		}
		if (judged.events != seen) {
			seen = judged.events;
			last_ns = clock_now_ns();
		} else if (clock_now_ns() - last_ns > 30000000000u) {
			fprintf(stderr, "nothing moves any more\n");
			abort();
		}
	}
}

static struct err err;

static void set_up(struct tries *tries) {
	const struct segment_params params = {.n_slots = 8192,
			.node_capacity = 4096,
			.start_ns = clock_now_ns()};
	n_truth = (uint32_t)(2 * run.n_events + 100000000);
	truth = calloc(n_truth, 1);
	pool = aligned_alloc(BLOCK_BYTES, (size_t)POOL_BLOCKS * BLOCK_BYTES);
	if (!truth || !judge_set_up(n_truth) || !pool || !segment_init(&segment, &params, &err)) {
		fprintf(stderr, "set-up: %s\n", err.text);
		exit(1);
	}
	tries_init(tries, &segment);
	for (uint32_t i = 0; i < POOL_BLOCKS; i++) {
		struct block *b = (struct block *)(void *)((char *)pool + (size_t)i * BLOCK_BYTES);
		b->next = lifo_top;
		lifo_top = b;
	}
	atomic_store(&segment.header->n_images, 1);
	struct sigaction action = {.sa_handler = allocate_in_handler, .sa_flags = SA_RESTART};
	sigaction(SIGUSR1, &action, NULL);
	action.sa_handler = freeze;
	sigaction(SIGUSR2, &action, NULL);
}

static void parse(int argc, char **argv) {
	int c;
	while ((c = getopt(argc, argv, "n:t:a:d:s:")) != -1) {
		switch (c) {
		case 'n': run.n_events = strtoull(optarg, NULL, 0); break;
		case 't': run.n_threads = (uint32_t)strtoul(optarg, NULL, 0); break;
		case 'a': run.is_lifo = strcmp(optarg, "lifo") == 0; break;
		case 's': run.seed = strtoull(optarg, NULL, 0); break;
		case 'd':
			run.disturb = (strstr(optarg, "stalls") ? STALLS : 0) |
					(strstr(optarg, "freeze") ? FREEZE : 0) |
					(strstr(optarg, "signals") ? SIGNALS : 0) |
					(strstr(optarg, "jumps") ? JUMPS | SIGNALS : 0) |
					(strstr(optarg, "deaths") ? DEATHS : 0);
			break;
		default: exit(2);
		}
	}
	if (run.n_threads < 1 || run.n_threads > MAX_THREADS) {
		exit(2);
	}
	if (!run.is_lifo && (run.disturb & SIGNALS)) {
		fprintf(stderr, "malloc cannot be called in a handler: use -a lifo\n");
		exit(2);
	}
}

static int report(const struct order_counts *c, double seconds) {
	uint64_t misjudged = judge_count_misjudged(truth, next_serial);
	uint64_t lost = n_published - judged.events;
	printf("%" PRIu64 " events, %u threads, %.1f M/s | behind %" PRIu64 ", unpublished %" PRIu64
		   ", forced %" PRIu64 ", late %" PRIu64 ", bad %" PRIu64 "\n",
			judged.events, c->n_threads, (double)judged.events / seconds / 1e6, c->looked_behind,
			c->unpublished, c->forced, c->late, c->bad_entries);
	printf("stalls %" PRIu64 ", frozen %" PRIu64 ", handlers %" PRIu64 ", jumps %" PRIu64
		   ", deaths %" PRIu64 "\n",
			n_stalled, n_frozen, n_handled, n_jumped, n_died);
	printf("wrong pairings %" PRIu64 ", doubly allocated %" PRIu64 ", unpaired reallocs %" PRIu64
		   ", wrong in the end %" PRIu64 ", not handed over %" PRIu64 ", threads not ended %" PRIu64
		   "\n",
			judged.wrong, judged.twice, judged.unpaired, misjudged, lost,
			judged.threads - judged.ended);
	// Who freezes within a hook is not waited for as long, nor whom a busy kernel is slow to bury
	bool is_late = !(run.disturb & FREEZE) && (c->forced > n_died || c->late);
	return judged.wrong || judged.twice || judged.unpaired || misjudged || lost || is_late ||
			c->bad_entries || judged.threads != judged.ended;
}

int main(int argc, char **argv) {
	parse(argc, argv);
	struct tries tries;
	set_up(&tries);
	struct order_sink sink = judge_sink;
	sink.thread_ended = thread_ended;
	struct order *o = order_create(&segment, &tries, &sink, NULL);
	uint64_t begin_ns = clock_now_ns();
	for (uint32_t i = 0; i < run.n_threads; i++) {
		workers[i].random = (run.seed + i) * 0x9E3779B97F4A7C15ull | 1;
		start_worker(&workers[i]);
	}
	pthread_t disturber;
	pthread_create(&disturber, NULL, disturb_all, NULL);
	collect(o);
	double seconds = (double)(clock_now_ns() - begin_ns) / 1e9;
	atomic_store(&is_over, true);
	segment_close(&segment);
	pthread_join(disturber, NULL);
	for (uint32_t i = 0; i < run.n_threads; i++) {
		pthread_join(workers[i].thread, NULL);
	}
	order_finish(o, clock_now_ns());
	struct order_counts counts = order_counts(o);
	order_destroy(o);
	tries_finish(&tries);
	int status = report(&counts, seconds);
	segment_finish(&segment);
	return status;
}
