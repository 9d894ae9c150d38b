// SPDX-License-Identifier: MIT
#include "order_world.h"

// ---- many threads, played step by step at random

enum { N_PLAYERS = 6, MAX_NESTED = 3, PLAY_PAGES = 5 };

struct player {
	struct writer writer;
	struct writer_event open[MAX_NESTED]; // a hook, and handlers that interrupted it
	bool has_number[MAX_NESTED];
	unsigned n_open;
};

/** One step of a random player. Sizes tell the order in which the page's numbers were drawn. */
static void play(struct player *players, uint64_t *drawn, uint64_t sizes[][MAX_NESTED]) {
	struct player *p = &players[rand() % N_PLAYERS];
	unsigned top = p->n_open - 1;
	bool begins = p->n_open == 0 || (p->n_open < MAX_NESTED && rand() % 8 == 0);
	if (begins && writer_make_room(&p->writer, 2, false)) {
		uint64_t ptr = page((uint64_t)rand() % PLAY_PAGES);
		p->open[p->n_open] = writer_reserve(&p->writer, KIND_ALLOC, ptr, rand() % 4 == 0);
		p->has_number[p->n_open++] = false;
	} else if (p->n_open > 0 && !p->has_number[top]) {
		writer_number(&p->writer, &p->open[top]);
		p->has_number[top] = true;
		sizes[p - players][top] = drawn[p->open[top].ptr / LINE]++;
	} else if (p->n_open > 0) {
		writer_publish(&p->writer, &p->open[top], sizes[p - players][top], 0);
		p->n_open--;
	}
}

static void check_row(uint64_t *seen) {
	for (size_t i = 0; i < t.n_row; i++) {
		assert_int_equal(t.row[i].size, seen[t.row[i].ptr / LINE]);
		seen[t.row[i].ptr / LINE]++;
	}
	t.n_row = 0;
}

static void test_random_plays_come_out_in_order(void **state) {
	(void)state;
	for (unsigned seed = 0; seed < 30; seed++) {
		srand(seed);
		struct player players[N_PLAYERS] = {0};
		uint64_t drawn[PLAY_PAGES + 1] = {0}, seen[PLAY_PAGES + 1] = {0};
		uint64_t sizes[N_PLAYERS][MAX_NESTED];
		for (uint32_t i = 0; i < N_PLAYERS; i++) {
			players[i].writer = join(i + 1);
		}
		unsigned steps_per_round = 1 + (unsigned)rand() % 2000;
		for (unsigned step = 0; step < 40000; step++) {
			play(players, drawn, sizes);
			if (rand() % steps_per_round == 0) {
				rounds(1, (uint64_t)rand() % (8 * MS));
				check_row(seen);
			}
		}
		for (unsigned step = 0; step < 4000; step++) { // let them come to an end
			struct player *p = &players[step % N_PLAYERS];
			while (p->n_open > 0) {
				unsigned top = --p->n_open;
				if (!p->has_number[top]) {
					writer_number(&p->writer, &p->open[top]);
					sizes[p - players][top] = drawn[p->open[top].ptr / LINE]++;
				}
				writer_publish(&p->writer, &p->open[top], sizes[p - players][top], 0);
			}
		}
		// A hook and its handler wait for each other until patience is lost, one after the other
		for (unsigned i = 0; i < 1000; i++) {
			rounds(1, 4 * MS);
			check_row(seen);
		}
		assert_memory_equal(drawn, seen, sizeof drawn);
		assert_int_equal(order_counts(t.order).strays, 0);
		assert_int_equal(order_counts(t.order).skipped_numbers, 0);
		tear_down(state);
		assert_int_equal(set_up_with(NULL), 0);
	}
}

// ---- memory that somebody scribbles on

static void scribble(void) {
	struct segment *s = &t.segment;
	struct thread_slot *slot = segment_slot(s, (uint32_t)rand() % 4);
	uint64_t value = (uint64_t)rand() << 33 ^ (uint64_t)rand() << 11 ^ (uint64_t)rand();
	uint64_t *at;
	switch (rand() % 8) {
	case 0: at = (uint64_t *)&s->regions[rand() % WIRE_N_REGIONS]; break;
	case 1: at = (uint64_t *)&s->nodes[rand() % 64]; break;
	case 2: at = (uint64_t *)slot + rand() % (sizeof *slot / 8); break;
	case 3: at = (uint64_t *)s->header + 40 + rand() % 16; break; // what the target counts
	default:
		at = (uint64_t *)((uint8_t *)slot + SLOT_SMALL_RING_AT) +
				rand() % (2 * (RING_SMALL_ENTRIES + RING_BIG_ENTRIES));
	}
	*at = rand() % 4 ? value : *at ^ 1ull << rand() % 64;
}

static void test_scribbled_memory_does_no_harm(void **state) {
	for (unsigned seed = 0; seed < 40; seed++) {
		srand(seed);
		struct writer w[3] = {join(1), join(2), join(3)};
		for (unsigned i = 0; i < 300; i++) {
			for (unsigned k = 0; k < (unsigned)rand() % 200; k++) {
				struct writer *one = &w[rand() % 3];
				// Not through a ring index that was scribbled on
				uint32_t which = atomic_load(&one->slot->ring);
				if (which < N_RINGS) {
					emit(one, (enum wire_kind)(rand() % 8), page((uint64_t)rand() % 9),
							(uint64_t)rand());
				}
			}
			for (unsigned k = 0; k < (unsigned)rand() % 100; k++) {
				scribble();
			}
			t.n_row = 0;
			rounds(1, (uint64_t)rand() % (30 * MS));
		}
		assert_true(order_finish(t.order, t.now_ns, &t.err));
		tear_down(state);
		assert_int_equal(set_up_with(NULL), 0);
	}
}

int main(void) {
	const struct CMUnitTest tests[] = {
			ORDER_TEST(random_plays_come_out_in_order),
			ORDER_TEST(scribbled_memory_does_no_harm),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
