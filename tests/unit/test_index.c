// SPDX-License-Identifier: MIT

/** The hash tables of the engine with keys as programs and adversaries make them. */

#include "base/index.h"
#include "engine/costs/bins.h"
#include "engine/live/blocks.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>
#include <cmocka.h>

enum { N = 50000, LONGEST_RUN = 100 };

/** Keys in patterns: sequential, strides of any power of two and odd ones, high bits alone. */
static uint64_t key_of(unsigned pattern, uint64_t i) {
	if (pattern < 48) {
		return i << pattern;
	}
	switch (pattern) {
	case 48: return 0x7f0000000000 + i * 48 + 8;
	case 49: return i * 0x10001;
	case 50: return ~i;
	case 51: return (i % 300) << 32 | i / 300;
	case 52: return (i / 1000) << 40 | (i % 1000) << 3;
	default: return i * 0x9e3779b9;
	}
}
enum { N_PATTERNS = 54 };

/** A run of full slots is what a search may have to walk through. */
static void assert_no_long_run(const struct index *ix) {
	uint32_t run = 0;
	for (uint64_t i = 0; i <= ix->mask; i++) {
		run = ix->slots[i] ? run + 1 : 0;
		assert_true(run < LONGEST_RUN);
	}
}

static uint32_t find(const struct index *ix, unsigned pattern, uint64_t i) {
	uint64_t hash = hash_u64(key_of(pattern, i));
	uint32_t at = index_first(ix, hash);
	for (uint32_t k; (k = index_next(ix, hash, &at)) != INDEX_NONE;) {
		if (key_of(pattern, k) == key_of(pattern, i)) {
			return k;
		}
	}
	return INDEX_NONE;
}

static void finds_keys_of_every_pattern(void **state) {
	(void)state;
	for (unsigned pattern = 0; pattern < N_PATTERNS; pattern++) {
		struct index ix = {0};
		uint32_t n = pattern < 48 && pattern > 47 - 16 ? 1u << (63 - pattern) : N;
		n = n < N ? n : N;
		for (uint32_t i = 0; i < n; i++) {
			assert_true(index_reserve(&ix, 1));
			index_put(&ix, hash_u64(key_of(pattern, i)), i);
		}
		for (uint32_t i = 0; i < n; i += 7) {
			assert_int_equal(find(&ix, pattern, i), i);
		}
		assert_int_equal(ix.n, n);
		assert_true(ix.mask + 1 >= 2 * n && ix.mask + 1 <= 4 * (n < 32 ? 32 : n)); // by load alone
		assert_no_long_run(&ix);
		index_finish(&ix);
	}
}

static void an_empty_index_has_nothing(void **state) {
	(void)state;
	struct index ix = {0};
	uint32_t at = index_first(&ix, 5);
	assert_int_equal(index_next(&ix, 5, &at), INDEX_NONE);
	index_finish(&ix);
}

static void odd_addresses_come_and_go(void **state) {
	(void)state;
	for (unsigned pattern = 0; pattern < N_PATTERNS; pattern++) {
		struct map o = {0};
		assert_int_equal(map_take(&o, 1), BLOCK_NONE);
		uint32_t n = pattern < 48 && pattern > 47 - 16 ? 1u << (63 - pattern) : N;
		n = n < N ? n : N;
		for (uint32_t i = 0; i < n; i++) {
			assert_true(map_reserve(&o, 1));
			assert_int_equal(map_set(&o, key_of(pattern, i), i + 1), BLOCK_NONE);
		}
		// Holes everywhere, and what is left is still found
		for (uint32_t i = 0; i < n; i++) {
			if (i % 3 != 1) {
				assert_int_equal(map_take(&o, key_of(pattern, i)), i + 1);
			}
		}
		for (uint32_t i = 0; i < n; i++) {
			assert_int_equal(map_get(&o, key_of(pattern, i)), i % 3 == 1 ? i + 1 : BLOCK_NONE);
		}
		assert_true(n < 3 || map_set(&o, key_of(pattern, 1), 77) == 2);
		assert_int_equal(o.n, (n + 1) / 3);
		map_finish(&o);
	}
}

/** Against adding up by hand. */
static void merges_intervals_of_every_pattern(void **state) {
	(void)state;
	static struct rec_interval items[N];
	static uint64_t counts[1024][64];
	uint32_t *scratch = calloc(intervals_merge_scratch(N), sizeof *scratch);
	assert_non_null(scratch);
	for (unsigned shift = 0; shift <= 22; shift++) {
		memset(counts, 0, sizeof counts);
		for (uint32_t i = 0; i < N; i++) {
			uint32_t stack = i * i % 1021;
			uint16_t from = (uint16_t)(i % 61);
			items[i] = (struct rec_interval){.stack = stack << shift,
					.from = from,
					.count = 1 + i % 5,
					.bytes = i};
			counts[stack][from] += 1 + i % 5;
		}
		size_t n = intervals_merge(items, N, scratch);
		for (size_t i = 0; i < n; i++) {
			uint64_t *count = &counts[items[i].stack >> shift][items[i].from];
			assert_int_equal(*count, items[i].count);
			*count = 0;
		}
		for (size_t i = 0; i < sizeof counts / sizeof **counts; i++) {
			assert_int_equal((&counts[0][0])[i], 0);
		}
	}
	free(scratch);
}

static void merging_keeps_what_does_not_fit(void **state) {
	(void)state;
	struct rec_interval items[] = {
			{.stack = 1, .count = UINT32_MAX - 1, .bytes = 5},
			{.stack = 1, .count = 3, .bytes = 6},
			{.stack = 1, .count = 1, .bytes = 7},
	};
	uint32_t scratch[16];
	assert_int_equal(intervals_merge_scratch(3), 16);
	assert_int_equal(intervals_merge(items, 3, scratch), 2);
	assert_int_equal(items[0].count, UINT32_MAX);
	assert_int_equal(items[0].bytes, 12);
	assert_int_equal(items[1].count, 3);
}

int main(void) {
	const struct CMUnitTest tests[] = {
			cmocka_unit_test(finds_keys_of_every_pattern),
			cmocka_unit_test(an_empty_index_has_nothing),
			cmocka_unit_test(odd_addresses_come_and_go),
			cmocka_unit_test(merges_intervals_of_every_pattern),
			cmocka_unit_test(merging_keeps_what_does_not_fit),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
