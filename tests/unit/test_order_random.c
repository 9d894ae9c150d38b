// SPDX-License-Identifier: MIT
#include "order_world.h"
#include "sys/clock.h"

// ---- many threads, played step by step at random

enum { N_PLAYERS = 6, MAX_NESTED = 3, PLAY_PAGES = 5 };

struct player {
	struct writer writer;
	struct writer_event open[MAX_NESTED]; // a hook, and handlers that interrupted it
	bool has_stamp[MAX_NESTED];
	unsigned n_open;
};

static uint64_t n_written;

/** 0 .. n - 1. */
static unsigned below(unsigned n) {
	return (unsigned)rand() % n;
}

static void publish(struct player *p) {
	struct writer_event *e = &p->open[--p->n_open];
	writer_publish(&p->writer, e, e->stamp - STAMPS_COUNTED_FROM, 0);
	n_written++;
}

/** One step of a random player. Sizes tell the order of the stamps. */
static void play(struct player *p) {
	unsigned top = p->n_open - 1;
	bool nests = p->n_open > 0 && p->n_open < MAX_NESTED && below(8) == 0;
	// To the big ring a thread moves when no hook is in progress
	if (nests || (p->n_open == 0 && writer_make_room(&p->writer, 20, false))) {
		uint64_t ptr = page(below(PLAY_PAGES));
		p->open[p->n_open] = writer_reserve(&p->writer, below(4) == 0 ? KIND_UNMAP : KIND_ALLOC,
				ptr, below(4) == 0);
		p->has_stamp[p->n_open++] = false;
	} else if (p->n_open > 0 && !p->has_stamp[top]) {
		writer_stamp(&p->writer, &p->open[top]);
		p->has_stamp[top] = true;
	} else if (p->n_open > 0) {
		publish(p);
	}
}

static void check_row(uint64_t *last) {
	for (size_t i = 0; i < t.n_row; i++) {
		assert_true(t.row[i].size >= *last);
		*last = t.row[i].size + 1;
	}
	t.n_row = 0;
}

/** What comes out is all that went in, in the order of the stamps: as a sort would have it. */
static void test_random_plays_come_out_in_order(void **state) {
	(void)state;
	for (unsigned seed = 0; seed < 30; seed++) {
		srand(seed);
		struct player players[N_PLAYERS] = {0};
		uint64_t last = 0;
		t.is_running = true;
		n_written = 0;
		for (uint32_t i = 0; i < N_PLAYERS; i++) {
			players[i].writer = join(i + 1);
		}
		unsigned steps_per_round = 1 + below(2000);
		for (unsigned step = 0; step < 40000; step++) {
			play(&players[below(N_PLAYERS)]);
			if (below(steps_per_round) == 0) {
				rounds(1, below(8 * MS));
				check_row(&last);
			}
		}
		for (unsigned i = 0; i < N_PLAYERS; i++) { // let them come to an end
			struct player *p = &players[i];
			while (p->n_open > 0) {
				if (!p->has_stamp[p->n_open - 1]) {
					writer_stamp(&p->writer, &p->open[p->n_open - 1]);
				}
				publish(p);
			}
		}
		(void)round_now();
		check_row(&last);
		assert_int_equal(t.n_all, n_written);
		assert_int_equal(order_counts(t.order).late, 0);
		tear_down(state);
		assert_int_equal(set_up_with(NULL), 0);
	}
}

// ---- processes of a tree

enum { N_PROCESSES = 3, N_WRITERS = 4, N_TREE_EVENTS = 20000, STEP_TICKS = 2000 };

/** A process more, whose stamps are those of the first. */
static void add_process(struct segment *s, struct tries *tries, uint32_t number) {
	const struct segment_params params = {.n_slots = 8,
			.slot_bytes = 1 << 20,
			.node_capacity = 1 << 10,
			.module_capacity = 16,
			.common = t.segment.common,
			.first = &t.segment,
			.process = number + 1,
			.first_owner = number * 64};
	assert_true(segment_init(s, &params, &t.err));
	tries_init(tries, s);
	atomic_store(&s->header->n_images, 1);
	order_add(t.order, s, tries, NULL);
}

/**
 * The first two processes have one thread, the third has two. Each keeps its order; among those of
 * others, an event has its place but for ORDER_APART, and so is seldom alone between theirs.
 */
static void test_processes_keep_their_own_order(void **state) {
	(void)state;
	struct segment more[N_PROCESSES - 1];
	struct tries tries[N_PROCESSES - 1];
	const uint64_t from = clock_stamp() - (1ull << 30);
	atomic_store(&t.segment.common->stamps, STAMPS_CLOCK);
	atomic_store(&t.segment.common->stamp, from);
	for (uint32_t i = 0; i + 1 < N_PROCESSES; i++) {
		add_process(&more[i], &tries[i], i + 1);
	}
	struct writer writers[N_WRITERS] = {join(1)};
	for (uint32_t i = 1; i < N_WRITERS; i++) {
		assert_true(writer_join_as(&writers[i], &more[i > 1], 1, i + 1));
	}
	uint64_t last[N_PROCESSES] = {0}, highest = 0;
	unsigned turns_made = 0, turns_seen = 0, before = 0, seen = 0;
	for (unsigned n = 0; n < N_TREE_EVENTS;) {
		for (unsigned k = 1 + below(3000); k > 0 && n < N_TREE_EVENTS; k--, n++) {
			unsigned who = below(N_WRITERS), process = who < 2 ? who : 2;
			turns_made += process != before;
			before = process;
			atomic_fetch_add(&t.segment.common->stamp, 1 + below(STEP_TICKS));
			emit(&writers[who], KIND_ALLOC, page(process),
					atomic_load(&t.segment.common->stamp) - from);
		}
		rounds(1, MS);
		for (size_t i = 0; i < t.n_row; i++) {
			unsigned process = (unsigned)(t.row[i].ptr / LINE) - 1;
			assert_true(t.row[i].size > last[process]);
			assert_true(t.row[i].size + ORDER_APART >= highest);
			last[process] = t.row[i].size;
			highest = highest > t.row[i].size ? highest : t.row[i].size;
			turns_seen += process != seen;
			seen = process;
		}
		t.n_row = 0;
	}
	assert_int_equal(t.n_all, N_TREE_EVENTS);
	assert_int_equal(order_counts(t.order).late, 0);
	assert_true(turns_seen * 3 < turns_made);
	tear_down(state);
	for (uint32_t i = 0; i + 1 < N_PROCESSES; i++) {
		tries_finish(&tries[i]);
		segment_finish(&more[i]);
	}
	assert_int_equal(set_up_with(NULL), 0);
}

// ---- memory that somebody scribbles on

static void scribble(void) {
	struct segment *s = &t.segment;
	struct thread_slot *slot = segment_slot(s, below(4));
	uint64_t value = (uint64_t)rand() << 33 ^ (uint64_t)rand() << 11 ^ (uint64_t)rand();
	uint64_t *at;
	switch (below(8)) {
	case 0: at = (uint64_t *)&s->header->common.stamp; break;
	case 1: at = (uint64_t *)&s->nodes[below(64)]; break;
	case 2: at = (uint64_t *)slot + below(sizeof *slot / 8); break;
	case 3: at = (uint64_t *)s->header + 40 + below(16); break; // what the target counts
	default:
		at = (uint64_t *)((uint8_t *)slot + SLOT_SMALL_RING_AT) +
				below(2 * (RING_SMALL_ENTRIES + RING_BIG_ENTRIES));
	}
	*at = below(4) ? value : *at ^ 1ull << below(64);
}

static void test_scribbled_memory_does_no_harm(void **state) {
	for (unsigned seed = 0; seed < 40; seed++) {
		srand(seed);
		struct writer w[3] = {join(1), join(2), join(3)};
		for (unsigned i = 0; i < 300; i++) {
			for (unsigned k = 0; k < below(200); k++) {
				struct writer *one = &w[below(3)];
				// Not through a ring index that was scribbled on
				uint32_t which = atomic_load(&one->slot->ring);
				if (which < N_RINGS) {
					emit(one, (enum wire_kind)below(8), page(below(9)), (uint64_t)rand());
				}
			}
			for (unsigned k = 0; k < below(100); k++) {
				scribble();
			}
			t.n_row = 0;
			rounds(1, below(30 * MS));
		}
		order_finish(t.order, t.now_ns);
		tear_down(state);
		assert_int_equal(set_up_with(NULL), 0);
	}
}

int main(void) {
	const struct CMUnitTest tests[] = {
			ORDER_TEST(random_plays_come_out_in_order),
			ORDER_TEST(processes_keep_their_own_order),
			ORDER_TEST(scribbled_memory_does_no_harm),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
