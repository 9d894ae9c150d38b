// SPDX-License-Identifier: MIT

/** Rings: what the owner publishes is what a reader finds, lap after lap, whoever interrupts. */

#include "recorder/core/ring.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

struct fixture {
	struct thread_slot *slot;
	struct ring ring;
};

static int set_up(void **state) {
	struct fixture *f = calloc(1, sizeof *f);
	f->slot = aligned_alloc(WIRE_PAGE_LEAST, SLOT_PRIVATE_AT);
	memset(f->slot, 0, SLOT_PRIVATE_AT);
	ring_open(&f->ring, f->slot, RING_SMALL);
	*state = f;
	return 0;
}

static int tear_down(void **state) {
	struct fixture *f = *state;
	free(f->slot);
	free(f);
	return 0;
}

/** The reader's side: the entry at `index`, if it is published. */
static bool read_entry(struct fixture *f, uint64_t index, uint64_t *head, uint64_t *body) {
	uint32_t n = wire_ring_entries(RING_SMALL);
	struct wire_event *e = (struct wire_event *)((unsigned char *)f->slot +
								   wire_ring_at(RING_SMALL)) +
			index % n;
	*head = atomic_load_explicit(&e->head, memory_order_acquire);
	if ((*head & 1ull << 63) != wire_phase(index, RING_SMALL_LOG2)) {
		return false;
	}
	*body = e->body;
	return true;
}

static void take(struct fixture *f, uint64_t n) {
	atomic_fetch_add(&f->slot->rings[RING_SMALL].taken, n);
}

static void write_event(struct fixture *f, const struct ring_event *event) {
	bool is_wide = wire_is_wide(event->ptr, event->size);
	uint64_t index = ring_reserve(&f->ring, 1 + is_wide);
	if (is_wide) {
		ring_publish_wide(&f->ring, index, event);
	} else {
		ring_publish_event(&f->ring, index, event);
	}
}

static uint64_t next_random(uint64_t *state) {
	*state = *state * 6364136223846793005u + 1442695040888963407u;
	return *state >> 20;
}

static struct ring_event random_event(uint64_t *random) {
	return (struct ring_event){.kind = KIND_ALLOC + next_random(random) % 5,
			.stamp = next_random(random),
			.node = (uint32_t)next_random(random) % WIRE_MAX_NODES,
			.ptr = next_random(random) << (next_random(random) % 21) & INT64_MAX,
			.size = next_random(random) >> (next_random(random) % 44)};
}

static void expect_event(struct fixture *f, uint64_t *index, const struct ring_event *event) {
	uint64_t head = 0, body = 0;
	uint64_t ptr = 0;
	uint64_t size = 0;
	bool is_wide = wire_is_wide(event->ptr, event->size);
	if (is_wide) {
		assert_true(read_entry(f, (*index)++, &head, &body));
		assert_int_equal(wire_head_kind(head), KIND_WIDE);
		ptr = wire_wide_ptr(head, body);
		size = wire_wide_size(body);
	}
	assert_true(read_entry(f, (*index)++, &head, &body));
	assert_int_equal(wire_head_kind(head), event->kind);
	assert_int_equal(wire_stamp(event->stamp + 100, head, body), event->stamp);
	assert_int_equal(wire_body_node(body), event->node);
	assert_int_equal(is_wide ? ptr : wire_head_ptr(head), event->ptr);
	assert_int_equal(is_wide ? size : wire_body_size(body), event->size);
}

static void test_events_come_back_lap_after_lap(void **state) {
	struct fixture *f = *state;
	uint64_t written = 1, expected = 1, index = 0, head, body;
	for (unsigned i = 0; i < 10 * RING_SMALL_ENTRIES; i++) {
		struct ring_event event = random_event(&written);
		assert_true(ring_look_for_room(&f->ring, 2));
		write_event(f, &event);
		uint64_t before = index;
		event = random_event(&expected);
		expect_event(f, &index, &event);
		assert_false(read_entry(f, index, &head, &body));
		take(f, index - before);
	}
}

/** What one field holds at its largest leaves the others as they are. */
static void test_fields_do_not_touch(void **state) {
	(void)state;
	const uint64_t high = (1ull << 48) - 16;
	const struct ring_event most = {.kind = 15,
			.stamp = (1u << WIRE_STAMP_BITS) - 1,
			.node = WIRE_MAX_NODES - 1,
			.ptr = high,
			.size = WIRE_SIZE_WIDE};
	for (unsigned fields = 0; fields < 32; fields++) {
		const struct ring_event e = {.kind = (fields & 1) != 0 ? most.kind : 0,
				.stamp = (fields & 2) != 0 ? most.stamp : 0,
				.node = (fields & 4) != 0 ? most.node : 0,
				.ptr = (fields & 8) != 0 ? most.ptr : 0,
				.size = (fields & 16) != 0 ? most.size : 0};
		uint64_t head = wire_head(0, e.kind, e.stamp, e.ptr);
		uint64_t body = wire_body(e.node, (uint32_t)e.size, e.stamp);
		assert_int_equal(head >> 63, 0);
		assert_int_equal(wire_head_kind(head), e.kind);
		assert_int_equal(wire_head_ptr(head), e.ptr);
		assert_int_equal(wire_body_node(body), e.node);
		assert_int_equal(wire_body_size(body), e.size);
		assert_int_equal(wire_stamp(e.stamp, head, body), e.stamp);
	}
}

static void test_addresses_of_48_bits_take_one_entry(void **state) {
	(void)state;
	for (unsigned bit = 4; bit < 64; bit++) {
		for (uint64_t with = 0; with < 2; with++) { // alone, and beside bit 47
			uint64_t ptr = 1ull << bit | with << 47;
			assert_int_equal(wire_is_wide(ptr, 0), bit >= 48);
			assert_true(wire_is_wide(ptr | 8, 0));
			assert_true(wire_is_wide(ptr | 1, 0));
			if (bit < 48) {
				assert_int_equal(wire_head_ptr(wire_head(0, KIND_FREE, 3, ptr)), ptr);
			} else if (bit < 63) {
				assert_int_equal(wire_wide_ptr(wire_wide_head(1ull << 63, ptr | 9),
										 wire_wide_body(ptr | 9, 1ull << 59)),
						ptr | 9);
				assert_int_equal(wire_wide_size(wire_wide_body(ptr | 9, 1ull << 59)), 1ull << 59);
			}
		}
	}
	assert_false(wire_is_wide(16, WIRE_SIZE_WIDE - 1));
	assert_true(wire_is_wide(16, WIRE_SIZE_WIDE));
	assert_true(wire_is_wide(16, 64 << 20));
	assert_true(wire_is_wide(16, UINT64_MAX));
}

static void test_room_ends_where_the_reader_stands(void **state) {
	struct fixture *f = *state;
	struct ring_event event = {.kind = KIND_FREE, .ptr = 16};
	for (unsigned i = 0; i < RING_SMALL_ENTRIES; i++) {
		assert_true(ring_has_room(&f->ring, 1));
		write_event(f, &event);
	}
	assert_false(ring_look_for_room(&f->ring, 1));
	assert_false(ring_is_blocked_by_owner(&f->ring, 1)); // all are published: the reader will come
	take(f, 3);
	assert_false(ring_has_room(&f->ring, 1)); // not looked yet
	assert_true(ring_look_for_room(&f->ring, 3));
	assert_false(ring_look_for_room(&f->ring, 4));
}

static void test_an_unpublished_entry_blocks_its_owner(void **state) {
	struct fixture *f = *state;
	struct ring_event event = {.kind = KIND_FREE, .ptr = 16};
	(void)ring_reserve(&f->ring, 1); // the hook that a handler interrupts
	for (unsigned i = 1; i < RING_SMALL_ENTRIES; i++) {
		write_event(f, &event);
	}
	assert_true(ring_is_blocked_by_owner(&f->ring, 1));
}

static void test_what_was_left_becomes_void(void **state) {
	struct fixture *f = *state;
	struct ring_event event = {.kind = KIND_ALLOC, .ptr = 32, .size = 1};
	uint64_t head = 0, body = 0;
	write_event(f, &event);
	uint64_t first = ring_reserved(&f->ring);
	(void)ring_reserve(&f->ring, 2); // left
	write_event(f, &event);          // a handler's, published
	(void)ring_reserve(&f->ring, 1); // left
	assert_int_equal(ring_void(&f->ring, first), 3);
	assert_int_equal(ring_void(&f->ring, first), 0);
	const enum wire_kind kinds[] = {KIND_ALLOC, KIND_VOID, KIND_VOID, KIND_ALLOC, KIND_VOID};
	for (unsigned i = 0; i < 5; i++) {
		assert_true(read_entry(f, i, &head, &body));
		assert_int_equal(wire_head_kind(head), kinds[i]);
	}
}

static void test_each_quarter_rings_once(void **state) {
	struct fixture *f = *state;
	unsigned n_rings = 0;
	uint64_t random = 1;
	uint64_t index = 0;
	while (index < 100 * RING_SMALL_ENTRIES) {
		uint32_t n = 1 + (uint32_t)(next_random(&random) % 3);
		n_rings += ring_crossed_quarter(&f->ring, index, n);
		index += n;
	}
	assert_int_equal(n_rings, index / (RING_SMALL_ENTRIES / 4));
}

// ---- with a reader on another thread

enum { N_CONCURRENT = 500000 };

static const char *const differs = "an entry differs";

static void *read_all(void *arg) {
	struct fixture *f = arg;
	uint64_t random = 7;
	for (uint64_t index = 0; index < N_CONCURRENT;) {
		uint64_t head, body = 0;
		if (!read_entry(f, index, &head, &body)) {
			continue;
		}
		uint64_t wanted = next_random(&random);
		uint32_t node = (uint32_t)wanted % WIRE_MAX_NODES;
		if (body != wire_body(node, 5, 9) || wire_head_ptr(head) != (wanted & 0xff0)) {
			return (void *)(uintptr_t)differs;
		}
		index++;
		atomic_store_explicit(&f->slot->rings[RING_SMALL].taken, index, memory_order_release);
	}
	return NULL;
}

static void test_a_reader_sees_whole_entries(void **state) {
	struct fixture *f = *state;
	pthread_t reader;
	assert_int_equal(pthread_create(&reader, NULL, read_all, f), 0);
	uint64_t random = 7;
	for (unsigned i = 0; i < N_CONCURRENT; i++) {
		while (!ring_has_room(&f->ring, 1) && !ring_look_for_room(&f->ring, 1)) {}
		uint64_t value = next_random(&random);
		write_event(f,
				&(struct ring_event){.kind = KIND_ALLOC,
						.stamp = 9,
						.node = (uint32_t)value % WIRE_MAX_NODES,
						.ptr = value & 0xff0,
						.size = 5});
	}
	void *complaint;
	pthread_join(reader, &complaint);
	assert_null(complaint);
}

int main(void) {
	const struct CMUnitTest tests[] = {
			cmocka_unit_test_setup_teardown(test_events_come_back_lap_after_lap, set_up, tear_down),
			cmocka_unit_test(test_fields_do_not_touch),
			cmocka_unit_test(test_addresses_of_48_bits_take_one_entry),
			cmocka_unit_test_setup_teardown(test_room_ends_where_the_reader_stands, set_up,
					tear_down),
			cmocka_unit_test_setup_teardown(test_an_unpublished_entry_blocks_its_owner, set_up,
					tear_down),
			cmocka_unit_test_setup_teardown(test_what_was_left_becomes_void, set_up, tear_down),
			cmocka_unit_test_setup_teardown(test_each_quarter_rings_once, set_up, tear_down),
			cmocka_unit_test_setup_teardown(test_a_reader_sees_whole_entries, set_up, tear_down),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
