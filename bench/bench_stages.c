// SPDX-License-Identifier: MIT
/*
 * The collector fed by rings without a program, in ns per event: order alone, its two stages in one
 * thread ("one"), and each in a thread of its own ("two", and the CPU time of each of these).
 *
 *   bench_stages [ROUNDS [FILE ...]]     FILE: a recording made with --events
 *
 * Rings are filled by writers in this process (not timed), as many as the events need that come
 * between two such pauses: a thread's events fill several rings one after the other. Of each such
 * piece the best round counts. CPU time is that of all threads.
 */
#include "collector/order/order.h"
#include "engine/feed.h"
#include "events.h"
#include "idle_sink.h"
#include "sys/clock.h"
#include "writer.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { N_WRITERS = 96, FILL = 12000 };

enum way { ORDER, ONE_THREAD, TWO_THREADS, N_WAYS };

/** The collector in one of the ways. */
struct fed {
	enum way way;
	const struct events *events;
	size_t at; // the next event to be written
	struct segment segment;
	struct tries tries;
	struct writer writers[N_WRITERS];
	uint32_t thread_of[N_WRITERS], n_written[N_WRITERS], n_writers;
	uint32_t *writer_of; // the thread's present one + 1
	struct order *order;
	struct feed feed;
};

static uint64_t cpu_ns(void) {
	struct timespec t;
	(void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static void take(void *user, const struct trace_event *events, size_t n) {
	struct fed *f = user;
	if (f->way == TWO_THREADS) {
		memcpy(f->feed.events, events, n * sizeof *events);
		f->feed.n = n;
		feed_pass(&f->feed);
	} else if (f->way != ORDER) {
		aggregate_events(f->feed.aggregate, events, n);
	}
}

static uint32_t take_thread(void *user, const struct order_thread *thread) {
	struct fed *f = user;
	return f->thread_of[thread->slot];
}

static void stop(const char *why) {
	(void)fprintf(stderr, "%s\n", why);
	exit(1);
}

static void begin(struct fed *f, enum way way, const struct events *events) {
	*f = (struct fed){.way = way, .events = events};
	struct err err = {0};
	uint32_t n_nodes = 1;
	for (size_t i = 0; i < events->n; i++) {
		n_nodes = events->items[i].node >= n_nodes ? events->items[i].node + 1 : n_nodes;
	}
	uint64_t end_ns = events->items[events->n - 1].time_ns;
	const struct segment_params params = {.n_slots = N_WRITERS,
			.slot_bytes = 1 << 20,
			.node_capacity = n_nodes,
			.start_ns = clock_now_ns() - end_ns - 1000000000};
	const struct order_sink sink = {.user = f,
			.events = take,
			.late_events = take,
			.thread = take_thread,
			.thread_ended = idle_thread_ended,
			.image = idle_image,
			.is_thread_alive = idle_is_alive,
			.is_thread_running = idle_is_alive};
	f->writer_of = calloc(events->n_threads + 1, sizeof *f->writer_of);
	if (!f->writer_of || !segment_init(&f->segment, &params, &err)) {
		stop(err.text);
	}
	feed_init(&f->feed, aggregate_create(NULL));
	tries_init(&f->tries, &f->segment);
	f->order = order_create(&f->segment, &f->tries, &sink, NULL);
	atomic_store(&f->segment.header->n_images, 1);
	for (uint32_t i = 1; i < n_nodes; i++) {
		f->segment.nodes[i].parent = i / 2;
		atomic_store(&f->segment.nodes[i].where, 0x400000 + i % 5000);
	}
	for (uint32_t i = 0; i < events->n_threads; i++) {
		(void)aggregate_thread(f->feed.aggregate, i, 1, 0);
	}
}

static void end(struct fed *f) {
	order_destroy(f->order);
	feed_finish(&f->feed);
	tries_finish(&f->tries);
	segment_finish(&f->segment);
	free(f->writer_of);
}

/** The writer for a thread's next event; NULL: all are full. */
static struct writer *writer_for(struct fed *f, uint32_t thread) {
	uint32_t *at = &f->writer_of[thread];
	for (; *at < f->n_writers; ++*at) { // *at: this one, or one before the next of the thread
		if (f->thread_of[*at] == thread && f->n_written[*at] < FILL) {
			break;
		}
	}
	if (*at == f->n_writers) {
		if (*at == N_WRITERS) {
			return NULL;
		}
		f->thread_of[*at] = thread;
		(void)writer_join_as(&f->writers[*at], &f->segment, 1, *at + 1);
		atomic_store(&f->writers[*at].slot->ring, RING_BIG);
		f->n_writers++;
	}
	f->n_written[*at]++;
	return &f->writers[*at];
}

/** As many events as fit. */
static size_t fill(struct fed *f) {
	size_t n = 0;
	memset(f->n_written, 0, sizeof f->n_written);
	memset(f->writer_of, 0, (f->events->n_threads + 1) * sizeof *f->writer_of);
	for (; f->at < f->events->n; f->at++, n++) {
		const struct trace_event *e = &f->events->items[f->at];
		struct writer *w = writer_for(f, e->thread);
		if (!w) {
			break;
		}
		atomic_store(&f->segment.common->tick_ns, e->time_ns & -(uint64_t)(1 << 16));
		writer_label(w, 0);
		struct writer_event we = writer_begin(w, (enum wire_kind)e->kind, e->ptr,
				wire_is_wide(e->ptr, e->size));
		writer_publish(w, &we, e->size, e->node);
	}
	return n;
}

struct cost {
	uint64_t wall_ns, first_ns, all_ns; // CPU time of the first thread, of all
};

static struct cost now(void) {
	return (struct cost){clock_now_ns(), clock_thread_cpu_ns(), cpu_ns()};
}

static struct cost drain(struct fed *f, size_t n_left) {
	struct cost begin = now();
	for (size_t n; n_left > 0; n_left -= n) {
		n = order_round(f->order, clock_now_ns());
	}
	feed_drain(&f->feed);
	struct cost end = now();
	return (struct cost){end.wall_ns - begin.wall_ns, end.first_ns - begin.first_ns,
			end.all_ns - begin.all_ns};
}

/** One round; best[i]: the lowest cost of piece i so far. Gives the number of pieces. */
static size_t run(enum way way, const struct events *events, struct cost *best) {
	static struct fed f;
	size_t piece = 0;
	begin(&f, way, events);
	for (size_t n; (n = fill(&f)) > 0; piece++) {
		struct cost c = drain(&f, n);
		best[piece] = best[piece].wall_ns == 0 || c.wall_ns < best[piece].wall_ns ? c : best[piece];
	}
	end(&f);
	return piece;
}

static void measure(const struct events *events, unsigned rounds) {
	size_t n = events->n / FILL + 1, n_pieces = 0;
	struct cost *best[N_WAYS];
	for (unsigned way = 0; way < N_WAYS; way++) {
		best[way] = calloc(n, sizeof **best);
		if (!best[way]) {
			abort();
		}
	}
	for (unsigned i = 0; i < rounds; i++) {
		for (unsigned way = 0; way < N_WAYS; way++) {
			n_pieces = run(way, events, best[way]);
		}
	}
	double wall[N_WAYS] = {0}, first[N_WAYS] = {0}, all[N_WAYS] = {0};
	for (unsigned way = 0; way < N_WAYS; way++) {
		for (size_t i = 0; i < n_pieces; i++) {
			wall[way] += (double)best[way][i].wall_ns / (double)events->n;
			first[way] += (double)best[way][i].first_ns / (double)events->n;
			all[way] += (double)best[way][i].all_ns / (double)events->n;
		}
		free(best[way]);
	}
	printf("%-20.20s %9zu %7.1f %7.1f %7.1f %7.1f %7.1f %7.2f %6.0f %%\n", events->name, events->n,
			wall[ORDER], first[TWO_THREADS], all[TWO_THREADS] - first[TWO_THREADS],
			wall[ONE_THREAD], wall[TWO_THREADS], wall[ONE_THREAD] / wall[TWO_THREADS],
			100 * (all[TWO_THREADS] / all[ONE_THREAD] - 1));
}

/** As they are; and as if eight threads did the same at once, with events in turns. */
static void measure_all(struct events *e, unsigned rounds) {
	static const size_t turns[] = {30, 4, 1};
	measure(e, rounds);
	for (size_t i = 0; i < sizeof turns / sizeof *turns; i++) {
		char name[32];
		(void)snprintf(name, sizeof name, "  8 in turns of %zu", turns[i]);
		struct events many = events_of_threads(e, 8, turns[i]);
		many.name = name;
		measure(&many, rounds);
		free(many.items);
	}
}

int main(int argc, char **argv) {
	unsigned rounds = argc > 1 ? (unsigned)strtoul(argv[1], NULL, 10) : 5;
	printf("%-20s %9s %7s %7s %7s %7s %7s %7s %8s\n", "", "events", "order", "first", "second",
			"one", "two", "faster", "more CPU");
	size_t n = argc > 2 ? (size_t)argc - 2 : EVENTS_SHAPES;
	for (size_t i = 0; i < n; i++) {
		struct events e = argc > 2 ? events_read(argv[2 + i]) : events_made(i);
		measure_all(&e, rounds);
		free(e.items);
	}
	return 0;
}
