// SPDX-License-Identifier: MIT
#include "base/buffer.h"
#include "symbols/ahead.h"

#include <dwarf.h>
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
	ahead_units(buffer_view(&b), pcs, N_PCS, units);
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
		ahead_units(buffer_view(&b), pcs, N_PCS, units);
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
		ahead_units(slice_of(cut, n), pcs, N_PCS, units);
		for (size_t i = 0; i < N_PCS; i++) {
			assert_true(units[i] == AHEAD_NONE || units[i] == 300 || units[i] == 700 ||
					units[i] == 900);
		}
		free(cut);
		for (unsigned bit = 0; bit < 8; bit++) {
			b.data[n] ^= (uint8_t)(1u << bit);
			ahead_units(buffer_view(&b), pcs, N_PCS, units);
			b.data[n] ^= (uint8_t)(1u << bit);
		}
	}
	buffer_finish(&b);
}

static void put_abbreviation(struct buffer *b, uint64_t code, uint64_t form) {
	buffer_varint(b, code);
	buffer_varint(b, DW_TAG_subprogram);
	buffer_u8(b, 1);
	buffer_varint(b, DW_AT_decl_line);
	buffer_varint(b, DW_FORM_implicit_const);
	buffer_u8(b, 0x7f); // -1
	buffer_varint(b, DW_AT_abstract_origin);
	buffer_varint(b, form);
	buffer_varint(b, 0);
	buffer_varint(b, 0);
}

static void abbreviations_say_how_far(void **state) {
	(void)state;
	static const struct {
		uint64_t form;
		enum ahead_reach reach;
	} cases[] = {{DW_FORM_ref4, AHEAD_CLOSED}, {DW_FORM_ref_addr, AHEAD_OPEN},
			{DW_FORM_ref_sig8, AHEAD_OPEN}, {DW_FORM_indirect, AHEAD_OPEN},
			{DW_FORM_strp, AHEAD_CLOSED}};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct buffer b = {0};
		put_abbreviation(&b, 1, DW_FORM_ref_addr); // of the table before
		buffer_varint(&b, 0);
		size_t at = b.size;
		put_abbreviation(&b, 1, DW_FORM_ref4);
		put_abbreviation(&b, 300, cases[i].form);
		size_t end = b.size;
		buffer_varint(&b, 0);
		assert_int_equal(ahead_abbreviations(buffer_view(&b), at), cases[i].reach);
		assert_int_equal(ahead_abbreviations(buffer_view(&b), b.size + 9), AHEAD_CUT);
		for (size_t n = at; n < end && cases[i].reach == AHEAD_CLOSED; n++) {
			assert_int_equal(ahead_abbreviations(slice_of(b.data, n), at), AHEAD_CUT);
		}
		buffer_finish(&b);
	}
}

int main(void) {
	const struct CMUnitTest tests[] = {
			cmocka_unit_test(units_by_ranges),
			cmocka_unit_test(other_versions_are_passed_over),
			cmocka_unit_test(damage_is_survived),
			cmocka_unit_test(abbreviations_say_how_far),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
