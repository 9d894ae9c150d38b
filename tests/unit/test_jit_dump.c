// SPDX-License-Identifier: MIT
#include "base/slice.h"
#include "symbols/perf_map.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <cmocka.h>

// ---- writing one, as perf's format says

static void put_header(struct buffer *b, uint32_t pid) {
	buffer_u32(b, 0x4a695444);
	buffer_u32(b, 1);
	buffer_u32(b, 40);
	buffer_u32(b, 62); // EM_X86_64
	buffer_u32(b, 0);
	buffer_u32(b, pid);
	buffer_u64(b, 1000); // when
	buffer_u64(b, 0);    // flags
}

static void put_record(struct buffer *b, uint32_t id, uint32_t bytes) {
	buffer_u32(b, id);
	buffer_u32(b, bytes);
	buffer_u64(b, 2000);
}

static void put_load(struct buffer *b, uint64_t address, uint32_t size, const char *name) {
	put_record(b, 0, 56 + (uint32_t)strlen(name) + 1 + size);
	buffer_u32(b, 7);
	buffer_u32(b, 7);
	buffer_u64(b, address);
	buffer_u64(b, address);
	buffer_u64(b, size);
	buffer_u64(b, 1);
	buffer_text(b, name);
	for (uint32_t i = 0; i <= size; i++) {
		buffer_u8(b, (uint8_t)(i == 0 ? 0 : 0xc3)); // the name's end, then code
	}
}

static void put_move(struct buffer *b, uint64_t from, uint64_t to, uint64_t size) {
	put_record(b, 1, 64);
	buffer_u32(b, 7);
	buffer_u32(b, 7);
	buffer_u64(b, to);
	buffer_u64(b, from);
	buffer_u64(b, to);
	buffer_u64(b, size);
	buffer_u64(b, 1);
}

static void put_unknown(struct buffer *b) {
	put_record(b, 4, 16 + 24);
	for (int i = 0; i < 3; i++) {
		buffer_u64(b, UINT64_MAX);
	}
}

static bool has_name(const struct perf_map *m, const struct buffer *b, uint64_t address,
		const char *name) {
	const struct perf_map_entry *e = perf_map_find(&m->current, address);
	return e && slice_equal(slice_of(b->data + e->name_at, e->name_bytes), slice_of_text(name));
}

// ---- tests

static void headers_are_told_apart(void **state) {
	(void)state;
	struct buffer b = {0};
	put_header(&b, 42);
	assert_true(jit_dump_is_of(buffer_view(&b), 42));
	assert_false(jit_dump_is_of(buffer_view(&b), 43));
	assert_false(jit_dump_is_of(slice_of(b.data, 20), 42));
	b.data[4] = 2; // another version
	assert_false(jit_dump_is_of(buffer_view(&b), 42));
	b.data[4] = 1;
	b.data[0] = 'J'; // the other byte order
	assert_false(jit_dump_is_of(buffer_view(&b), 42));
	buffer_finish(&b);
}

/** Whatever pieces it comes in, also such as end within a name or within code. */
static void pieces_do_not_matter(void **state) {
	(void)state;
	struct buffer b = {0};
	put_header(&b, 42);
	put_load(&b, 0x1000, 0x100, "JS:~first /srv/a.js:3:1");
	put_unknown(&b);
	put_load(&b, 0x2000, 5000, "JS:*big /srv/a.js:9:1");
	put_load(&b, 0x1000, 0x80, "JS:~second /srv/b.js:7:1"); // takes the place of the first
	put_load(&b, 0x5000, 0, "empty");
	put_move(&b, 0x1000, 0x9000, 0x80);
	put_move(&b, 0x7777, 0xa000, 0x80); // of what nothing is known
	for (size_t piece = 1; piece <= b.size; piece += 1 + piece / 8) {
		struct perf_map m = {0};
		uint64_t at = 0;
		for (size_t end = 0; end < b.size || at < b.size;) {
			end = end + piece < b.size ? end + piece : b.size; // so much has been written
			// and so much of it is read at once
			size_t n = at >= end ? 0 : end - at < 5000 ? end - at : 5000;
			at += n == 0 ? 0 : jit_dump_feed(&m, slice_of(b.data + at, n), at, end);
			perf_map_sort(&m);
			perf_map_merge(&m);
			assert_true(at <= end);
		}
		assert_true(has_name(&m, &b, 0x107f, "JS:~second /srv/b.js:7:1"));
		assert_null(perf_map_find(&m.current, 0x1080));
		assert_true(has_name(&m, &b, 0x2000 + 4999, "JS:*big /srv/a.js:9:1"));
		assert_true(has_name(&m, &b, 0x9000, "JS:~second /srv/b.js:7:1"));
		assert_null(perf_map_find(&m.current, 0x5000));
		assert_null(perf_map_find(&m.current, 0xa000));
		perf_map_finish(&m);
	}
	buffer_finish(&b);
}

static void long_names_are_cut(void **state) {
	(void)state;
	char name[PERF_MAP_NAME_MAX + 100];
	memset(name, 'f', sizeof name - 1);
	name[sizeof name - 1] = '\0';
	struct buffer b = {0};
	struct perf_map m = {0};
	put_header(&b, 42);
	put_load(&b, 0x1000, 8, name);
	assert_int_equal(jit_dump_feed(&m, buffer_view(&b), 0, b.size), b.size);
	assert_int_equal(m.fresh.items[0].name_bytes, PERF_MAP_NAME_MAX);
	perf_map_finish(&m);
	buffer_finish(&b);
}

/** A record that is none ends it: nothing behind it can be trusted, and nothing is read for ever. */
static void nonsense_ends_it(void **state) {
	(void)state;
	struct buffer b = {0};
	struct perf_map m = {0};
	put_header(&b, 42);
	put_load(&b, 0x1000, 8, "f");
	size_t good = b.size;
	put_record(&b, 0, 15);
	put_load(&b, 0x2000, 8, "g");
	assert_int_equal(jit_dump_feed(&m, buffer_view(&b), 0, b.size), good);
	assert_int_equal(jit_dump_feed(&m, slice_of(b.data + good, b.size - good), good, b.size), 0);
	assert_int_equal(m.fresh.n, 1);
	perf_map_finish(&m);
	buffer_finish(&b);
}

int main(void) {
	const struct CMUnitTest tests[] = {
			cmocka_unit_test(headers_are_told_apart),
			cmocka_unit_test(pieces_do_not_matter),
			cmocka_unit_test(long_names_are_cut),
			cmocka_unit_test(nonsense_ends_it),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
