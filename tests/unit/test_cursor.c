// SPDX-License-Identifier: MIT
// Buffer and cursor are neighbours: what one writes the other reads
#include "base/slice.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

static uint64_t any_number(void) {
	uint64_t v = (uint64_t)rand() << 42 ^ (uint64_t)rand() << 21 ^ (uint64_t)rand();
	return v >> rand() % 64;
}

static int64_t unzigzag(uint64_t v) {
	return (int64_t)(v >> 1) ^ -(int64_t)(v & 1);
}

static void reads_what_was_written(void **state) {
	(void)state;
	struct buffer b = {0};
	enum { N = 5000 };
	srand(3);
	for (int i = 0; i < N; i++) {
		uint64_t v = any_number();
		buffer_u8(&b, (uint8_t)v);
		buffer_u32(&b, (uint32_t)v);
		buffer_u64(&b, v);
		buffer_varint(&b, v);
		buffer_signed(&b, (int64_t)v);
		buffer_signed(&b, -(int64_t)(v >> 1));
		buffer_sized(&b, slice_of(&v, v % 9));
	}
	assert_false(b.failed);
	struct cursor c = cursor_init(buffer_view(&b));
	srand(3);
	for (int i = 0; i < N; i++) {
		uint64_t v = any_number();
		assert_int_equal(cursor_u8(&c), (uint8_t)v);
		assert_int_equal(cursor_u32(&c), (uint32_t)v);
		assert_int_equal(cursor_u64(&c), v);
		assert_int_equal(cursor_varint(&c), v);
		assert_int_equal(unzigzag(cursor_varint(&c)), (int64_t)v);
		assert_int_equal(unzigzag(cursor_varint(&c)), -(int64_t)(v >> 1));
		struct slice s = cursor_sized(&c);
		assert_true(slice_equal(s, slice_of(&v, v % 9)));
	}
	assert_false(c.failed);
	assert_int_equal(cursor_left(&c), 0);
	buffer_finish(&b);
}

static void yields_zeros_once_it_ran_dry(void **state) {
	(void)state;
	static const uint8_t bytes[] = {1, 2, 3};
	struct cursor c = cursor_init(slice_of(bytes, 3));
	assert_int_equal(cursor_u32(&c), 0);
	assert_true(c.failed);
	assert_int_equal(cursor_u8(&c), 0); // also what would have fitted
	assert_int_equal(cursor_rest(&c).size, 0);
}

static void refuses_malformed_numbers(void **state) {
	(void)state;
	static const uint8_t too_long[] = {0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff,
			1};
	static const uint8_t too_large[] = {0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 2};
	static const uint8_t largest[] = {0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1};
	static const uint8_t cut[] = {0x80};
	struct cursor a = cursor_init(slice_of(too_long, sizeof too_long));
	struct cursor b = cursor_init(slice_of(too_large, sizeof too_large));
	struct cursor c = cursor_init(slice_of(largest, sizeof largest));
	struct cursor d = cursor_init(slice_of(cut, sizeof cut));
	assert_int_equal(cursor_varint(&a), 0);
	assert_int_equal(cursor_varint(&b), 0);
	assert_true(cursor_varint(&c) == UINT64_MAX);
	assert_int_equal(cursor_varint(&d), 0);
	assert_true(a.failed && b.failed && !c.failed && d.failed);
}

static void prints_into_a_growing_buffer(void **state) {
	(void)state;
	struct buffer b = {0};
	for (int i = 0; i < 1000; i++) {
		buffer_printf(&b, "%03d,", i);
	}
	assert_int_equal(b.size, 4000);
	assert_memory_equal(b.data + 3996, "999,", 4);
	assert_null(buffer_room(&b, SIZE_MAX - 8)); // more than there is: sticky
	assert_true(b.failed);
	buffer_u8(&b, 1);
	assert_int_equal(b.size, 4000);
	buffer_finish(&b);
}

int main(void) {
	const struct CMUnitTest tests[] = {
			cmocka_unit_test(reads_what_was_written),
			cmocka_unit_test(yields_zeros_once_it_ran_dry),
			cmocka_unit_test(refuses_malformed_numbers),
			cmocka_unit_test(prints_into_a_growing_buffer),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
