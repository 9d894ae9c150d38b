// SPDX-License-Identifier: MIT
#include "base/slice.h"
#include "symbols/dwarf/unit.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <cmocka.h>

struct range {
	uint64_t from, length;
};

/** One unit's ranges, as DWARF 5 lays them out in 32 bits or in 64; (0, 0) ends them. */
static void put_set(struct buffer *b, bool is_wide, uint64_t unit, const struct range *ranges,
		size_t n) {
	size_t header = is_wide ? 24 : 12, before = header + (-header & 15);
	uint64_t length = before + (n + 1) * 16 - (is_wide ? 12 : 4);
	size_t start = b->size;
	if (is_wide) {
		buffer_u32(b, UINT32_MAX);
		buffer_u64(b, length);
	} else {
		buffer_u32(b, (uint32_t)length);
	}
	buffer_u8(b, 2);
	buffer_u8(b, 0);
	if (is_wide) {
		buffer_u64(b, unit);
	} else {
		buffer_u32(b, (uint32_t)unit);
	}
	buffer_u8(b, 8);
	buffer_u8(b, 0);
	while (b->size - start < before) {
		buffer_u8(b, 0xee);
	}
	for (size_t i = 0; i < n; i++) {
		buffer_u64(b, ranges[i].from);
		buffer_u64(b, ranges[i].length);
	}
	buffer_u64(b, 0);
	buffer_u64(b, 0);
}

enum { N_PCS = 7 };
static const uint64_t pcs[N_PCS] = {0, 99, 100, 150, 150, 5000, UINT64_MAX};

static void put_three(struct buffer *b) {
	put_set(b, false, 700, (struct range[]){{120, 31}, {4000, 1001}}, 2);
	put_set(b, true, 300, (struct range[]){{100, 20}, {150, 1}}, 2);
	put_set(b, false, 900, (struct range[]){{0, 100}, {UINT64_MAX - 5, 10}}, 2);
}

static void units_by_ranges(void **state) {
	(void)state;
	struct buffer b = {0};
	put_three(&b);
	uint64_t units[N_PCS];
	assert_true(ahead_units(buffer_view(&b), pcs, N_PCS, units));
	// The first of the file where two hold it: 150
	static const uint64_t want[N_PCS] = {900, 900, 300, 300, 300, 700, 900};
	assert_memory_equal(units, want, sizeof want);
	buffer_finish(&b);
}

static void other_versions_are_passed_over(void **state) {
	(void)state;
	static const size_t places[] = {4, 10, 11}; // version, bytes of an address, of a segment
	for (size_t i = 0; i < 3; i++) {
		struct buffer b = {0};
		put_set(&b, false, 1, (struct range[]){{100, 100}}, 1);
		b.data[places[i]]++;
		put_set(&b, false, 2, (struct range[]){{5000, 1}}, 1);
		uint64_t units[N_PCS];
		assert_true(ahead_units(buffer_view(&b), pcs, N_PCS, units));
		assert_int_equal(units[3], AHEAD_NONE);
		assert_int_equal(units[5], 2);
		buffer_finish(&b);
	}
}

/** Cut anywhere, and with any byte changed: what is found is a unit of the table, or none. */
static void damage_is_survived(void **state) {
	(void)state;
	struct buffer b = {0};
	put_three(&b);
	uint64_t units[N_PCS];
	for (size_t n = 0; n < b.size; n++) {
		uint8_t *cut = malloc(n + 1);
		memcpy(cut, b.data, n);
		assert_true(ahead_units(slice_of(cut, n), pcs, N_PCS, units));
		for (size_t i = 0; i < N_PCS; i++) {
			assert_true(units[i] == AHEAD_NONE || units[i] == 300 || units[i] == 700 ||
					units[i] == 900);
		}
		free(cut);
		for (unsigned bit = 0; bit < 8; bit++) {
			b.data[n] ^= (uint8_t)(1u << bit);
			(void)ahead_units(buffer_view(&b), pcs, N_PCS, units);
			b.data[n] ^= (uint8_t)(1u << bit);
		}
	}
	buffer_finish(&b);
}

/** Ranges that all lie upon each other would take their number times that of the addresses. */
static void what_takes_too_long_is_given_up(void **state) {
	(void)state;
	enum { N_RANGES = 1000, N = 100 };
	static struct range ranges[N_RANGES];
	uint64_t many[N], units[N];
	for (size_t i = 0; i < N; i++) {
		many[i] = 1000 + i;
	}
	for (size_t i = 0; i < N_RANGES; i++) {
		ranges[i] = (struct range){i, 1 << 20};
	}
	struct buffer b = {0};
	put_set(&b, false, 1, ranges, N_RANGES);
	assert_false(ahead_units(buffer_view(&b), many, N, units));
	assert_true(ahead_units(buffer_view(&b), (uint64_t[]){1 << 30}, 1, units));
	buffer_finish(&b);
}

int main(void) {
	const struct CMUnitTest tests[] = {
			cmocka_unit_test(units_by_ranges),
			cmocka_unit_test(other_versions_are_passed_over),
			cmocka_unit_test(damage_is_survived),
			cmocka_unit_test(what_takes_too_long_is_given_up),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
