// SPDX-License-Identifier: MIT
#include "engine/live/blocks.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

enum { BLOCKS = 500, ADDRESSES = 4 * BLOCKS };

/** Frees of any addresses, before and after the blocks are known, against an array of flags. */
static void frees_are_told_apart(void **state) {
	(void)state;
	for (int round = 0; round < 200; round++) {
		struct old_blocks o = {.is_waiting = true};
		struct extent *blocks = calloc(BLOCKS, sizeof *blocks);
		uint64_t n_known = 0, bytes_known = 0;
		assert_non_null(blocks);
		uint64_t size_at[ADDRESSES] = {0};
		uint64_t unknown = 0;
		size_t n = 0;
		for (unsigned a = 1; a < ADDRESSES && n < BLOCKS; a++) {
			size_at[a] = rand() % 3 == 0 ? 1 + (uint64_t)rand() % 100 : 0;
			if (size_at[a]) {
				blocks[n++] = (struct extent){a, size_at[a]};
			}
		}
		int n_frees = rand() % 600, n_before = rand() % 600;
		for (int i = 0; i < n_frees; i++) {
			if (i == n_before) {
				unknown -= old_blocks_take(&o, blocks, n);
			}
			unsigned a = (unsigned)rand() % ADDRESSES;
			unknown += !old_blocks_free(&o, a);
			n_known += size_at[a] > 0;
			bytes_known += size_at[a];
			size_at[a] = 0;
		}
		if (n_frees <= n_before) {
			unknown -= old_blocks_take(&o, blocks, n);
		}
		assert_int_equal(o.n_freed, n_known);
		assert_int_equal(o.freed_bytes, bytes_known);
		assert_int_equal(unknown, (uint64_t)n_frees - n_known);
		old_blocks_finish(&o);
	}
}

static void none_are_expected_usually(void **state) {
	(void)state;
	struct old_blocks o = {0};
	assert_false(old_blocks_free(&o, 16));
	assert_int_equal(o.unknown.n, 0);
	old_blocks_finish(&o);
}

int main(void) {
	const struct CMUnitTest tests[] = {
			cmocka_unit_test(frees_are_told_apart),
			cmocka_unit_test(none_are_expected_usually),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
