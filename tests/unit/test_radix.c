// SPDX-License-Identifier: MIT
#include "base/vec.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <cmocka.h>

static uint64_t next_random(uint64_t *state) {
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return *state;
}

/** Keys within `mask`; each value is where its key stood. */
static void agrees(size_t n, uint64_t mask, uint64_t seed) {
	struct radix_item *items = calloc(n + 1, sizeof *items);
	struct radix_item *scratch = calloc(n + 1, sizeof *scratch);
	uint64_t *keys = calloc(n + 1, sizeof *keys);
	assert_true(items && scratch && keys);
	for (size_t i = 0; i < n; i++) {
		keys[i] = next_random(&seed) & mask;
		items[i] = (struct radix_item){.key = keys[i], .value = i};
	}
	items[n] = scratch[n] = (struct radix_item){.key = 1, .value = 2};
	radix_sort(items, scratch, n);
	for (size_t i = 0; i < n; i++) {
		assert_int_equal(items[i].key, keys[items[i].value]);
		// Strictly by key and place: so no item came twice, and equal keys kept their order
		assert_true(i == 0 || items[i - 1].key < items[i].key ||
				(items[i - 1].key == items[i].key && items[i - 1].value < items[i].value));
	}
	assert_true(items[n].key == 1 && items[n].value == 2);
	assert_true(scratch[n].key == 1 && scratch[n].value == 2);
	free(keys);
	free(scratch);
	free(items);
}

static void orders_any_keys(void **state) {
	(void)state;
	const uint64_t masks[] = {0, 1, 0xff, 0xff00, 0xfffffff, 0xff000000000000ff, UINT64_MAX};
	for (size_t m = 0; m < sizeof masks / sizeof *masks; m++) {
		for (size_t n = 0; n < 2000; n = n * 3 + 1) {
			agrees(n, masks[m], 88172645463325252u + n);
		}
	}
}

int main(void) {
	const struct CMUnitTest tests[] = {
			cmocka_unit_test(orders_any_keys),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
