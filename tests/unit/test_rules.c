// SPDX-License-Identifier: MIT

#include "../fake_segment.h"
#include "recorder/core/capture/capture.h"
#include "recorder/core/segment.h"
#include "recorder/core/unwind/modules.h"
#include "recorder/core/unwind/rules.h"

#include <dlfcn.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <cmocka.h>

enum { N_THREADS = 4, N_PLACES = 20000, N_ROUNDS = 3 };

static uint64_t first_pc; // in libc, where functions of all kinds are

static int setup(void **state) {
	(void)state;
	fake_segment(1024, 64);
	first_pc = (uint64_t)dlsym(RTLD_DEFAULT, "gnu_get_libc_version");
	return first_pc != 0 && capture_setup() ? 0 : 1;
}

/** Made anew each time: what the table must agree with. */
static struct rule fresh(uint64_t key) {
	struct rule rule;
	rule_get(&rule, key, true);
	return rule;
}

static bool is_equal(const struct rule *a, const struct rule *b) {
	return a->where == b->where && a->step == b->step;
}

// In a sandbox nothing can be mapped: more rules than the first table holds, and all are right
static void test_a_table_that_cannot_grow(void **state) {
	(void)state;
	atomic_store(&segment.header->has_filter, 1);
	for (uint64_t i = 0; i < N_ROUNDS * N_PLACES; i++) {
		uint64_t key = first_pc + i % N_PLACES;
		struct rule rule, again, wanted = fresh(key);
		rule_get(&rule, key, false);
		rule_get(&again, key, false);
		assert_true(is_equal(&rule, &wanted));
		assert_true(is_equal(&again, &wanted));
	}
	atomic_store(&segment.header->has_filter, 0);
}

static void test_kinds(void **state) {
	(void)state;
	struct rule rule;
	unsigned n_kinds[RULE_SLOW + 1] = {0};
	for (uint64_t i = 0; i < N_PLACES; i++) {
		rule_get(&rule, (first_pc + i) | (i % 2 != 0 ? WIRE_EXACT_PC : 0), false);
		assert_in_range(step_kind(rule.step), RULE_SP, RULE_SLOW);
		assert_int_not_equal(wire_where_module(rule.where), 0);
		assert_true(rule_is_of(&rule, (first_pc + i) | (i % 2 != 0 ? WIRE_EXACT_PC : 0)));
		n_kinds[step_kind(rule.step)]++;
	}
	assert_true(n_kinds[RULE_SP] > N_PLACES / 2);
	assert_int_equal(n_kinds[RULE_JIT], 0);
	// At its first byte a function has only been called: the state is known without tables
	rule_get(&rule, first_pc | WIRE_EXACT_PC, false);
	assert_int_equal(step_kind(rule.step), RULE_SP);
	assert_int_equal(step_cfa(rule.step), 8);
	assert_int_equal(step_bp(rule.step), RULE_BP_SAME);
}

static void test_no_module(void **state) {
	(void)state;
	struct rule rule;
	uint64_t pc = (uint64_t)fake_pages(4096) + 100;
	rule_get(&rule, pc, false);
	assert_int_equal(step_kind(rule.step), RULE_JIT);
	assert_true(rule.where == pc);
}

static void test_program_counters_of_48_bits(void **state) {
	(void)state;
	const uint64_t keys[] = {1ull << 47, (1ull << 47) + 1, WIRE_PC_MASK, 1ull << 47 | WIRE_EXACT_PC,
			RULE_KEY_MASK};
	enum { N = sizeof keys / sizeof *keys };
	for (unsigned i = 0; i < 2 * N; i++) { // the second time they are there
		struct rule rule;
		rule_get(&rule, keys[i % N], false);
		assert_int_equal(step_kind(rule.step), RULE_JIT);
		assert_true(rule.where == keys[i % N]);
		for (unsigned other = 0; other < N; other++) {
			assert_int_equal(rule_is_of(&rule, keys[other]), other == i % N);
		}
	}
	// What the table marks a place with that is being filled in
	assert_true((UINT64_MAX & RULE_KEY_MASK) != UINT64_MAX);
	assert_true(rule_lookup_pc(RULE_KEY_MASK) == WIRE_PC_MASK);
}

static _Atomic unsigned n_wrong;

static void *ask_all(void *argument) {
	uint64_t step = 3 + 2 * (uint64_t)argument; // each in an order of its own
	for (uint64_t i = 0; i < N_ROUNDS * N_PLACES; i++) {
		uint64_t key = first_pc + i * step % N_PLACES;
		struct rule rule;
		rule_get(&rule, key, false);
		if (i % 16 == 0) {
			struct rule wanted = fresh(key);
			n_wrong += !is_equal(&rule, &wanted);
		}
		if (i % 5000 == 0) {
			atomic_fetch_add(&code_generation, 1);
		}
	}
	return NULL;
}

// Under changing generations, in a table that grows
static void test_threads(void **state) {
	(void)state;
	pthread_t threads[N_THREADS];
	for (uint64_t t = 0; t < N_THREADS; t++) {
		assert_int_equal(pthread_create(&threads[t], NULL, ask_all, (void *)t), 0);
	}
	for (unsigned t = 0; t < N_THREADS; t++) {
		pthread_join(threads[t], NULL);
	}
	assert_int_equal(n_wrong, 0);
}

int main(void) {
	const struct CMUnitTest tests[] = {
			cmocka_unit_test(test_a_table_that_cannot_grow),
			cmocka_unit_test(test_kinds),
			cmocka_unit_test(test_no_module),
			cmocka_unit_test(test_program_counters_of_48_bits),
			cmocka_unit_test(test_threads),
	};
	return cmocka_run_group_tests(tests, setup, NULL);
}
