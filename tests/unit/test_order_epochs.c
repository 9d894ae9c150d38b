// SPDX-License-Identifier: MIT
#include "order_world.h"

static uint64_t epoch_now(void) {
	return atomic_load(&t.segment.header->common.epoch);
}

static uint32_t slot_of(const struct writer *w) {
	return (uint32_t)((uint64_t)((uint8_t *)w->slot - t.segment.slots) / t.segment.slot_bytes);
}

static bool is_of(const struct writer *w) {
	return wire_epoch_owner(epoch_now()) == slot_of(w) + 1;
}

static bool is_of_all(void) {
	return wire_epoch_owner(epoch_now()) == 0;
}

/** The first thread, alone. */
static struct writer join_first(void) {
	struct writer w = join(1);
	writer_take_first_epoch(&w);
	return w;
}

/** Until the epoch of now is complete, and all that there is has come out. */
static void settle(void) {
	rounds(4, MS);
}

/** As many events as a thread must have had, alone, to be given an epoch. */
static void be_busy(struct writer *w) {
	for (unsigned i = 0; i < 8; i++) {
		for (unsigned k = 0; k < 100; k++) {
			emit(w, KIND_ALLOC, page(7), 1);
		}
		rounds(1, MS);
	}
	settle();
	t.n_row = 0;
}

static void assert_none_late(void) {
	const struct order_counts counts = order_counts(t.order);
	assert_int_equal(counts.late, 0);
	assert_int_equal(counts.bad_entries, 0);
	assert_int_equal(counts.forced, 0);
}

static void test_a_thread_alone_takes_no_stamps(void **state) {
	(void)state;
	struct writer a = join_first();
	uint64_t stamp = atomic_load(&t.segment.header->common.stamp);
	for (unsigned i = 0; i < 500; i++) {
		emit(&a, KIND_ALLOC, page(i), i);
	}
	assert_int_equal(atomic_load(&t.segment.header->common.stamp), stamp);
	assert_true(is_of(&a));
	settle();
	assert_int_equal(t.n_row, 500);
	assert_int_equal(t.n_misplaced, 0);
	assert_none_late();
}

static void test_another_threads_event_ends_its_epoch(void **state) {
	(void)state;
	struct writer a = join_first();
	struct writer b = join(2);
	emit(&a, KIND_ALLOC, page(1), 0);
	assert_true(is_of(&a)); // not by being there: by an event
	emit(&b, KIND_FREE, page(1), 0);
	assert_true(is_of_all());
	emit(&a, KIND_ALLOC, page(1), 0);
	emit(&b, KIND_FREE, page(1), 0);
	settle();
	ASSERT_ROW(page(1), page(1), page(1), page(1));
	for (unsigned i = 0; i < 4; i++) {
		assert_int_equal(t.row[i].kind, i % 2 ? TRACE_FREE : TRACE_ALLOC);
	}
	assert_none_late();
}

static void test_who_is_alone_is_given_an_epoch(void **state) {
	(void)state;
	struct writer a = join_first(), b = join(2);
	emit(&b, KIND_ALLOC, page(1), 0);
	settle();
	be_busy(&a);
	assert_true(is_of(&a));
	uint64_t stamp = atomic_load(&t.segment.header->common.stamp);
	emit(&a, KIND_ALLOC, page(1), 0);
	assert_int_equal(atomic_load(&t.segment.header->common.stamp), stamp);
	emit(&b, KIND_FREE, page(1), 0);
	emit(&a, KIND_ALLOC, page(2), 0);
	settle();
	ASSERT_ROW(page(1), page(1), page(2));
	be_busy(&b);
	assert_true(is_of(&b));
	be_busy(&a);
	assert_true(is_of(&a));
	assert_none_late();
}

static void test_two_that_take_turns_are_given_none(void **state) {
	(void)state;
	struct writer a = join_first(), b = join(2);
	emit(&b, KIND_ALLOC, page(1), 0);
	settle();
	uint64_t epoch = epoch_now();
	for (unsigned i = 0; i < 50; i++) {
		for (unsigned k = 0; k < 300; k++) {
			emit(k % 2 ? &a : &b, KIND_ALLOC, page(1), 1);
		}
		rounds(1, MS);
		t.n_row = 0;
	}
	assert_int_equal(epoch_now(), epoch);
}

/** A store may be seen by others later than what was read behind it. */
static void test_an_epoch_waits_for_those_before(void **state) {
	(void)state;
	struct writer a = join_first(), b = join(2);
	emit(&b, KIND_ALLOC, page(1), 0);
	be_busy(&a);
	assert_true(is_of(&a));
	// b ends it; a's event of before is not seen by us yet, nor that it is reserved
	struct writer_event event = writer_begin(&a, KIND_ALLOC, page(2), false);
	_Atomic uint64_t *reserved = &event.ring->reserved;
	uint64_t n = atomic_load(reserved);
	emit(&b, KIND_FREE, page(2), 0);
	atomic_store(reserved, n - 1);
	rounds(1, 1000); // sees the new epoch
	rounds(10, 1000);
	assert_int_equal(t.n_row, 0);
	atomic_store(reserved, n);
	writer_publish(&a, &event, 0, 0);
	settle();
	ASSERT_ROW(page(2), page(2));
	assert_int_equal(t.row[0].kind, TRACE_ALLOC);
	assert_none_late();
}

static void test_who_stands_still_in_an_older_epoch_holds_up(void **state) {
	(void)state;
	struct writer a = join_first(), b = join(2);
	struct writer_event event = writer_begin(&a, KIND_ALLOC, page(2), false);
	emit(&b, KIND_FREE, page(2), 0);
	settle();
	assert_int_equal(t.n_row, 0);
	writer_publish(&a, &event, 0, 0);
	settle();
	ASSERT_ROW(page(2), page(2));
	assert_int_equal(t.row[0].kind, TRACE_ALLOC);
	assert_none_late();
}

static void test_a_handler_behind_a_reserved_entry_names_the_epoch(void **state) {
	(void)state;
	struct writer a = join_first(), b = join(2);
	emit(&a, KIND_ALLOC, page(1), 0);
	struct writer_event hook = writer_reserve(&a, KIND_ALLOC, page(4), false);
	emit(&b, KIND_ALLOC, page(2), 0);
	emit(&a, KIND_ALLOC, page(3), 0); // the handler's
	writer_stamp(&a, &hook);
	writer_publish(&a, &hook, 0, 0);
	settle();
	ASSERT_ROW(page(1), page(2), page(3), page(4));
	assert_none_late();
}

static void test_the_epoch_of_the_dead_is_not_their_slots(void **state) {
	(void)state;
	struct writer a = join_first();
	uint32_t slot = slot_of(&a);
	emit(&a, KIND_ALLOC, page(1), 0);
	t.dead_tid[0] = 1;
	rounds(200, 50 * MS);
	assert_int_equal(t.n_ended, 1);
	assert_true(is_of_all());
	struct writer b = join(2), c = join(3); // the first of them in that slot
	assert_int_equal(slot_of(&b), slot);
	emit(&c, KIND_ALLOC, page(2), 0);
	emit(&b, KIND_FREE, page(2), 0);
	settle();
	ASSERT_ROW(page(1), page(2), page(2));
	assert_none_late();
}

static void test_a_nonsensical_epoch_is_put_right(void **state) {
	(void)state;
	struct writer a = join_first(), b = join(2);
	emit(&a, KIND_ALLOC, page(1), 0);
	settle();
	const uint64_t values[] = {UINT64_MAX, 0, wire_epoch(1ull << 38, 3), wire_epoch(3, 0xffff)};
	for (unsigned i = 0; i < sizeof values / sizeof *values; i++) {
		atomic_store(&t.segment.header->common.epoch, values[i]);
		settle();
		emit(&a, KIND_ALLOC, page(2), 0);
		emit(&b, KIND_FREE, page(2), 0);
		settle();
		t.n_row = 0;
		emit(&a, KIND_ALLOC, page(3), 0);
		emit(&b, KIND_FREE, page(3), 0);
		settle();
		ASSERT_ROW(page(3), page(3));
		assert_int_equal(t.row[1].kind, TRACE_FREE);
	}
	assert_true(order_counts(t.order).bad_entries > 0);
}

// ---- random: what was over before something began comes before it, whatever epochs there were

enum { N_PLAYERS = 4, MAX_NESTED = 3, N_STEPS = 30000 };

struct player {
	struct writer writer;
	struct writer_event open[MAX_NESTED]; // a hook, and handlers that interrupted it
	uint32_t ids[MAX_NESTED];
	bool has_epoch[MAX_NESTED];
	unsigned n_open;
};

static uint32_t begun[N_STEPS], ended[N_STEPS]; // by id: at which step
static uint32_t n_ids, now;

static void finish_one(struct player *p) {
	unsigned top = --p->n_open;
	ended[p->ids[top]] = ++now;
	writer_publish(&p->writer, &p->open[top], p->ids[top], 0);
}

/** One step of a player: as a thread makes it, and a handler that interrupts it anywhere. */
static void play(struct player *p) {
	unsigned n = p->n_open;
	bool nests = n > 0 && n < MAX_NESTED && rand() % 16 == 0;
	if (nests || (n == 0 && writer_make_room(&p->writer, 20, false))) {
		p->open[n] = writer_reserve(&p->writer, KIND_ALLOC, page((uint64_t)rand() % 5), false);
		p->ids[n] = n_ids;
		p->has_epoch[n] = false;
		begun[n_ids++] = ++now;
		p->n_open++;
	} else if (n > 0 && !p->has_epoch[n - 1]) {
		writer_stamp(&p->writer, &p->open[n - 1]);
		p->has_epoch[n - 1] = true;
	} else if (n > 0) {
		finish_one(p);
	}
}

/** In the row, nothing comes before what was over when it began. */
static void check_row(uint32_t *last_begun) {
	for (size_t i = 0; i < t.n_row; i++) {
		uint32_t id = (uint32_t)t.row[i].size;
		assert_true(ended[id] > *last_begun);
		*last_begun = begun[id] > *last_begun ? begun[id] : *last_begun;
	}
	t.n_row = 0;
}

static void come_to_an_end(struct player players[N_PLAYERS]) {
	for (struct player *p = players; p < players + N_PLAYERS; p++) {
		while (p->n_open > 0) {
			if (!p->has_epoch[p->n_open - 1]) {
				writer_stamp(&p->writer, &p->open[p->n_open - 1]);
			}
			finish_one(p);
		}
	}
}

static void play_at_random(unsigned seed, unsigned *n_epochs) {
	srand(seed);
	struct player players[N_PLAYERS] = {0};
	n_ids = now = 0;
	t.is_running = true;
	for (uint32_t i = 0; i < N_PLAYERS; i++) {
		players[i].writer = join(i + 1);
	}
	writer_take_first_epoch(&players[0].writer);
	uint32_t last_begun = 0;
	unsigned favoured = 0, others = N_STEPS;
	for (unsigned step = 0; step < N_STEPS; step++) {
		if (rand() % 2000 == 0) {
			favoured = (unsigned)rand() % N_PLAYERS;
			others = rand() % 2 ? N_STEPS : 1 + (unsigned)rand() % 400;
			if (rand() % 2) { // else they stand still where they are
				come_to_an_end(players);
			}
		}
		play(&players[(unsigned)rand() % others == 0 ? (unsigned)rand() % N_PLAYERS : favoured]);
		if (rand() % 100 == 0) {
			rounds(1, (uint64_t)rand() % (rand() % 2 ? MS : 30000));
			check_row(&last_begun);
		}
	}
	come_to_an_end(players);
	settle();
	check_row(&last_begun);
	assert_int_equal(t.n_all, n_ids);
	assert_none_late();
	*n_epochs += (unsigned)wire_epoch_number(epoch_now());
}

static void test_random_plays_keep_what_was_established(void **state) {
	unsigned n_epochs = 0;
	for (unsigned seed = 0; seed < 60; seed++) {
		play_at_random(seed, &n_epochs);
		tear_down(state);
		assert_int_equal(set_up_with(NULL), 0);
	}
	assert_true(n_epochs > 60 * 4); // they were given, and ended
}

int main(void) {
	const struct CMUnitTest tests[] = {
			ORDER_TEST(a_thread_alone_takes_no_stamps),
			ORDER_TEST(another_threads_event_ends_its_epoch),
			ORDER_TEST(who_is_alone_is_given_an_epoch),
			ORDER_TEST(two_that_take_turns_are_given_none),
			ORDER_TEST(an_epoch_waits_for_those_before),
			ORDER_TEST(who_stands_still_in_an_older_epoch_holds_up),
			ORDER_TEST(a_handler_behind_a_reserved_entry_names_the_epoch),
			ORDER_TEST(the_epoch_of_the_dead_is_not_their_slots),
			ORDER_TEST(a_nonsensical_epoch_is_put_right),
			ORDER_TEST(random_plays_keep_what_was_established),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
