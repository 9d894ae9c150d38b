// SPDX-License-Identifier: MIT

#include "../fake_segment.h"
#include "recorder/core/capture/trie.h"
#include "recorder/core/segment.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <cmocka.h>

enum { N_NODES = 1 << 20, N_THREADS = 4, N_STACKS = 20000, DEPTH = 6 };

/** The process has had a stack, of one frame, before it executed this program. */
static int setup(void **state) {
	(void)state;
	fake_segment(N_NODES, 4);
	atomic_store(&segment.nodes[1].where, 0x9000);
	atomic_store(&segment.nodes[0].first_child, 1);
	atomic_store(&segment.header->n_nodes, 2);
	return trie_setup() ? 0 : 1;
}

// First, for it is the first nodes that make the memory for links
static void test_one_root_after_an_exec(void **state) {
	(void)state;
	uint32_t root = trie_child(0, 0xa000);
	uint32_t leaf = trie_child(root, 0xb000);
	assert_int_equal(trie_child(0, 0xa000), root);
	assert_int_equal(trie_child(root, 0xb000), leaf);
}

static void test_same_stack_same_node(void **state) {
	(void)state;
	uint32_t a = trie_child(0, 0x1000);
	uint32_t b = trie_child(a, 0x2000);
	assert_int_not_equal(a, 0);
	assert_int_not_equal(b, a);
	assert_int_equal(trie_child(0, 0x1000), a);
	assert_int_equal(trie_child(a, 0x2000), b);
	assert_int_not_equal(trie_child(a, 0x2000 | WIRE_EXACT_PC), b);
	assert_int_not_equal(trie_child(0, 0x2000), b);
	assert_int_equal(segment.nodes[b].parent, a);
	assert_true(atomic_load(&segment.nodes[b].where) == 0x2000);
}

static void test_program_counters_of_48_bits(void **state) {
	(void)state;
	// Each differs from the first in one bit of what a node's `where` may hold
	uint64_t first = 1ull << 47 | 5ull << WIRE_MODULE_SHIFT;
	uint32_t parent = trie_child(0, WIRE_PC_MASK);
	uint32_t nodes[64];
	for (unsigned bit = 0; bit < 64; bit++) {
		nodes[bit] = trie_child(parent, first ^ 1ull << bit);
		assert_int_not_equal(nodes[bit], 0);
	}
	for (unsigned bit = 0; bit < 64; bit++) {
		assert_true(atomic_load(&segment.nodes[nodes[bit]].where) == (first ^ 1ull << bit));
		assert_int_equal(trie_child(parent, first ^ 1ull << bit), nodes[bit]);
	}
	uint32_t all = trie_child(parent, UINT64_MAX); // exact, at the highest, in an unknown module
	assert_int_equal(trie_child(parent, UINT64_MAX), all);
	assert_true(atomic_load(&segment.nodes[all].where) == UINT64_MAX);
}

/** Stack number `i`: shared at its root, its own at the leaf. */
static uint32_t add_stack(uint32_t i) {
	uint32_t node = 0;
	for (unsigned depth = 0; depth < DEPTH; depth++) {
		node = trie_child(node, 0x10000 + (i >> 2 * (DEPTH - 1 - depth)) * 16 + depth);
	}
	return node;
}

static void *add_all(void *results) {
	uint32_t *nodes = results;
	for (uint32_t i = 0; i < N_STACKS; i++) {
		nodes[i] = add_stack(i);
	}
	return NULL;
}

/** The stack that `node` says, as one number. */
static uint64_t spell(uint32_t node) {
	uint64_t sum = 0;
	for (; node != 0; node = segment.nodes[node].parent) {
		sum = sum * 31 + atomic_load(&segment.nodes[node].where);
	}
	return sum;
}

// More stacks than the first table has places: it grows under the threads' hands
static void test_threads_agree(void **state) {
	(void)state;
	static uint32_t nodes[N_THREADS][N_STACKS];
	pthread_t threads[N_THREADS];
	for (unsigned t = 0; t < N_THREADS; t++) {
		assert_int_equal(pthread_create(&threads[t], NULL, add_all, nodes[t]), 0);
	}
	for (unsigned t = 0; t < N_THREADS; t++) {
		pthread_join(threads[t], NULL);
	}
	unsigned n_twins = 0;
	for (uint32_t i = 0; i < N_STACKS; i++) {
		uint64_t wanted = spell(add_stack(i));
		for (unsigned t = 0; t < N_THREADS; t++) {
			assert_true(spell(nodes[t][i]) == wanted);
			n_twins += nodes[t][i] != nodes[0][i];
		}
	}
	// Two nodes for one stack may come of growing only, hardly ever
	assert_true(n_twins < N_STACKS / 100);
}

static void test_tables_grow(void **state) {
	(void)state;
	enum { N = 300000 };
	uint32_t first = atomic_load(&segment.header->n_nodes);
	for (uint64_t i = 0; i < N; i++) {
		assert_int_not_equal(trie_child(0, 0x100000 + i), 0);
	}
	for (uint64_t i = 0; i < N; i++) {
		uint32_t node = trie_child(0, 0x100000 + i);
		assert_true(atomic_load(&segment.nodes[node].where) == 0x100000 + i);
	}
	assert_int_equal(atomic_load(&segment.header->n_nodes), first + N);
}

static void test_budget(void **state) {
	(void)state;
	uint32_t last = 0;
	uint64_t where = 0x10000000;
	while (last + 1 < N_NODES) {
		uint32_t node = trie_child(0, where++);
		assert_true(node > last || node != 0);
		last = node;
	}
	assert_int_equal(trie_child(0, where), 0);
	assert_int_equal(trie_child(0, where - 1), last); // what is there is still found
	assert_int_equal(atomic_load(&segment.header->n_nodes), N_NODES);
}

int main(void) {
	const struct CMUnitTest tests[] = {
			cmocka_unit_test(test_one_root_after_an_exec),
			cmocka_unit_test(test_same_stack_same_node),
			cmocka_unit_test(test_program_counters_of_48_bits),
			cmocka_unit_test(test_threads_agree),
			cmocka_unit_test(test_tables_grow),
			cmocka_unit_test(test_budget),
	};
	return cmocka_run_group_tests(tests, setup, NULL);
}
