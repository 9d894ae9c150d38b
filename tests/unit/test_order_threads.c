// SPDX-License-Identifier: MIT
#include "order_world.h"

static void test_slots_are_given_back(void **state) {
	(void)state;
	for (uint32_t i = 0; i < 200; i++) {
		struct writer w = join(i + 1);
		assert_in_range((uint8_t *)w.slot - t.segment.slots, 0, 3 << 20);
		for (unsigned k = 0; k < 300; k++) {
			emit(&w, KIND_ALLOC, page(i), k);
		}
		atomic_store(&w.slot->failed, 2);
		*((uint8_t *)w.slot + SLOT_PRIVATE_AT + 12345) = 1;
		uint32_t generation = w.slot->generation;
		(void)round_now();
		t.dead_tid[0] = i + 1;
		rounds(3, 11 * MS);
		assert_int_equal(t.n_ended, i + 1);
		assert_int_equal(atomic_load(&w.slot->state), SLOT_FREE);
		assert_int_equal(w.slot->generation, generation + 1);
		assert_int_equal(w.slot->tid, 0);
		assert_int_equal(*((uint8_t *)w.slot + SLOT_PRIVATE_AT + 12345), 0);
		assert_int_equal(*((uint8_t *)w.slot + SLOT_SMALL_RING_AT + 7), 0);
	}
	assert_int_equal(t.n_all, 200 * 300);
	assert_int_equal(order_counts(t.order).failed, 400);
	assert_int_equal(order_counts(t.order).n_live, 0);
}

static void test_tid_that_comes_again_ends_the_old_thread(void **state) {
	(void)state;
	struct writer old = join(7);
	emit(&old, KIND_ALLOC, page(1), 0);
	(void)writer_begin(&old, KIND_ALLOC, page(2), false);
	(void)round_now();
	struct writer w = join(7);
	emit(&w, KIND_ALLOC, page(2), 0);
	rounds(30, MS);
	ASSERT_ROW(page(1), page(2));
	assert_int_equal(t.n_ended, 1);
	assert_int_equal(order_counts(t.order).n_live, 1);
}

static void test_images_follow_each_other(void **state) {
	(void)state;
	struct writer a = join(1), b = join(2);
	emit(&a, KIND_ALLOC, page(1), 0);
	(void)round_now();
	(void)writer_begin(&b, KIND_ALLOC, page(2), false); // killed by the exec
	emit(&a, KIND_ALLOC, page(2), 0);
	emit(&a, KIND_ALLOC, page(3), 0);
	atomic_store(&t.segment.header->n_images, 2);
	struct writer n;
	assert_true(writer_join_as(&n, &t.segment, 2, 1));
	emit(&n, KIND_ALLOC, page(2), 1);
	rounds(50, MS);
	// The mark stands between the images
	ASSERT_ROW(page(1), page(2), page(3), 2, page(2));
	assert_int_equal(t.image, 2);
	assert_int_equal(t.n_ended, 2);
	assert_int_equal(t.n_threads, 3);
}

static void label(struct writer *w, uint64_t ns) {
	struct writer_event e = writer_reserve(w, KIND_TIME, 0, false);
	e.entries[0]->body = ns;
	atomic_store(&e.entries[0]->head, wire_head(e.phases[0], KIND_TIME, 0, 0));
}

static void test_labels_of_the_future_are_cut(void **state) {
	(void)state;
	struct writer w = join(1);
	label(&w, t.now_ns + 5 * MS);
	emit(&w, KIND_ALLOC, page(1), 0);
	(void)round_now();
	assert_int_equal(t.n_row, 1);
	assert_int_equal(t.row[0].time_ns, t.now_ns);
	assert_int_equal(order_counts(t.order).bad_entries, 0);
	label(&w, UINT64_MAX);
	emit(&w, KIND_ALLOC, page(1), 0);
	(void)round_now();
	assert_int_equal(t.row[1].time_ns, t.now_ns);
	assert_int_equal(order_counts(t.order).bad_entries, 1);
}

static void test_owner_that_waits_is_told(void **state) {
	(void)state;
	struct writer w = join(1);
	emit(&w, KIND_ALLOC, page(1), 0);
	atomic_store(&w.slot->rings[RING_SMALL].owner_waits, 1);
	(void)round_now();
	assert_int_equal(atomic_load(&w.slot->rings[RING_SMALL].taken), 2);
	assert_int_equal(atomic_load(&w.slot->rings[RING_SMALL].room), 1);
}

static void test_end_takes_what_is_left(void **state) {
	(void)state;
	struct writer a = join(1), b = join(2);
	(void)writer_begin(&a, KIND_ALLOC, page(1), false);
	emit(&a, KIND_ALLOC, page(2), 0);
	emit(&b, KIND_FREE, page(1), 0);
	label(&b, UINT64_MAX);
	emit(&b, KIND_FREE, page(2), 0);
	order_finish(t.order, t.now_ns);
	assert_int_equal(t.n_row, 3);
	assert_int_equal(t.n_ended, 2);
	assert_int_equal(order_counts(t.order).unpublished, 1);
	assert_int_equal(order_counts(t.order).n_live, 0);
}

int main(void) {
	const struct CMUnitTest tests[] = {
			ORDER_TEST(slots_are_given_back),
			ORDER_TEST(tid_that_comes_again_ends_the_old_thread),
			ORDER_TEST(images_follow_each_other),
			ORDER_TEST(labels_of_the_future_are_cut),
			ORDER_TEST(owner_that_waits_is_told),
			ORDER_TEST(end_takes_what_is_left),
	};
	int n_failed = 0;
	for (page_bytes = WIRE_PAGE_LEAST; page_bytes <= WIRE_PAGE_MOST; page_bytes *= 4) {
		n_failed += cmocka_run_group_tests(tests, NULL, NULL);
	}
	return n_failed;
}
