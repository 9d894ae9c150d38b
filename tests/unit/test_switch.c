// SPDX-License-Identifier: MIT

/**
 * A program begins with several threads at once.
 *
 * One thread maps the segment and turns the switch on. A thread that finds the switch on finds the
 * segment ready, too, and gets a slot. Under TSan this also checks the order of memory.
 */

#include "../fake_program.h"
#include "recorder/core/hook/hook.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

enum { N_THREADS = 4, N_HOOKS = 100 };

static pthread_barrier_t start_line;

static void *allocate(void *user) {
	unsigned *n_recorded = user;
	(void)pthread_barrier_wait(&start_line);
	for (uint64_t i = 1; *n_recorded < N_HOOKS; i++) {
		struct hook h;
		if (hook_enter(&h, MACHINE_CALLER(), false)) {
			hook_allocated(&h, (const void *)((1ull << 47) + i * 16), 24);
			hook_leave(&h);
			++*n_recorded;
		}
	}
	return NULL;
}

static unsigned count_slot(uint32_t slot) {
	struct thread_slot *s = segment_slot(slot);
	const struct wire_event *e = (const struct wire_event *)((unsigned char *)s +
			wire_ring_at(RING_SMALL));
	uint64_t end = atomic_load(&s->rings[RING_SMALL].reserved);
	unsigned n = 0;
	for (uint64_t i = 0; i < end; i++) {
		uint64_t head = atomic_load(&e[i].head);
		assert_true(head >> 63 != 0);
		bool is_one = wire_head_kind(head) == KIND_ALLOC;
		assert_int_not_equal(wire_head_kind(head), KIND_WIDE);
		assert_true(!is_one || wire_head_ptr(head) >= 1ull << 47);
		n += is_one;
	}
	return n;
}

static void test_threads_find_the_segment_ready(void **state) {
	(void)state;
	pthread_t threads[N_THREADS];
	unsigned n_recorded[N_THREADS] = {0};
	assert_int_equal(pthread_barrier_init(&start_line, NULL, N_THREADS), 0);
	for (unsigned i = 0; i < N_THREADS; i++) {
		assert_int_equal(pthread_create(&threads[i], NULL, allocate, &n_recorded[i]), 0);
	}
	for (unsigned i = 0; i < N_THREADS; i++) {
		pthread_join(threads[i], NULL);
	}
	unsigned n = 0;
	for (uint32_t i = 0; i < N_THREADS; i++) {
		assert_int_equal(atomic_load(&segment_slot(i)->state), SLOT_LIVE);
		n += count_slot(i);
	}
	assert_int_equal(n, N_THREADS * N_HOOKS);
	assert_int_equal(atomic_load(&segment.header->lost_no_slot), 0);
}

int main(void) {
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_threads_find_the_segment_ready)};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
