// SPDX-License-Identifier: MIT

// Tables as columns: any numbers come back, and what newer versions add is stepped over

#include "trace/events/events.h"
#include "trace/tables/tables.h"
#include "trace_samples.h"

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

// Any bits, or mostly zeros: then most numbers are short, as in real tables, with long ones between
static void fill(void *data, size_t n, uint64_t *random) {
	uint8_t *at = data;
	uint64_t rarity = (uint64_t[]){1, 1, 40, 1000}[sample_random(random) % 4];
	for (size_t i = 0; i < n; i++) {
		at[i] = sample_random(random) % rarity ? 0 : (uint8_t)sample_random(random);
	}
	// Now and then the extremes
	if (n >= 8 && sample_random(random) % 4 == 0) {
		memset(at + sample_random(random) % (n / 8) * 8, sample_random(random) % 2 ? 0xff : 0, 8);
	}
}

#define FILL_ROWS(r, table, count, random) \
	(SAMPLE_ROWS(r, table, count),         \
			fill((r)->table.items, (r)->table.n * sizeof *(r)->table.items, random))

// Any bits everywhere, but for what the types themselves exclude
static struct recording random_bits(uint64_t seed) {
	struct recording r = {0};
	uint64_t random = seed;
	uint64_t n = sample_below(&random, 700);
	fill(&r.meta, offsetof(struct rec_meta, wall_offset_s), &random);
	fill(&r.summary, offsetof(struct rec_summary, suppressed_blocks), &random);
	struct rec_quality *q = &r.quality;
	fill(q, offsetof(struct rec_quality, clock_is_not_tsc), &random);
	q->clock_is_not_tsc = 1;
	FILL_ROWS(&r, stacks, n, &random);
	FILL_ROWS(&r, lifetimes, n, &random);
	FILL_ROWS(&r, edges, n, &random);
	SAMPLE_ROWS(&r, intervals, n);
	FILL_ROWS(&r, sizes, n, &random);
	FILL_ROWS(&r, threads, n, &random);
	FILL_ROWS(&r, handovers, n, &random);
	SAMPLE_ROWS(&r, modules, n);
	for (uint64_t i = 0; i < n; i++) {
		struct rec_stack *s = &r.stacks.items[i];
		memset(&s->usual_size + 1, 0,
				offsetof(struct rec_stack, allocations) - offsetof(struct rec_stack, usual_size) -
						sizeof s->usual_size); // no field
		struct rec_interval v;
		fill(&v, sizeof v, &random);
		v.stack = i % 5 ? v.stack % 400 : v.stack;
		v.until = v.until < v.from ? REC_NEVER : v.until;
		if (i % 3) {
			v.count %= REC_WIDE + (uint32_t)(i % 2); // as it mostly is, and just above
			v.temporary &= i % 7 ? UINT16_MAX : UINT32_MAX;
			v.bytes &= i % 11 ? UINT32_MAX : UINT64_MAX;
		}
		assert_true(recording_set_interval(&r, (uint32_t)i, &v));
		struct rec_module *m = &r.modules.items[i];
		fill(m, offsetof(struct rec_module, build_id), &random);
		m->build_id_bytes = (uint8_t)(sample_random(&random) % 33);
		fill(m->build_id, m->build_id_bytes, &random);
		m->is_unresolved = 255;
	}
	return r;
}

static void test_state_of_any_numbers(void **state) {
	(void)state;
	for (uint64_t seed = 0; seed < 300; seed++) {
		struct recording r = random_bits(seed);
		struct buffer out = {0};
		state_encode(&out, &r);
		assert_false(out.failed);
		struct recording got = {0};
		struct err err = {0};
		struct counts_row counts;
		assert_true(state_counts(&counts, buffer_view(&out), &err));
		if (!state_decode(&got, buffer_view(&out), &err)) {
			fail_msg("seed %d: %s", (int)seed, err.text);
		}
		const char *difference = sample_difference(&r, &got);
		if (difference) {
			fail_msg("seed %d: %s differ", (int)seed, difference);
		}
		recording_finish(&r);
		recording_finish(&got);
		buffer_finish(&out);
	}
}

// Each prefix of a payload is refused, or read without a step beyond its end
static void test_state_cut_anywhere(void **state) {
	(void)state;
	struct recording r = random_bits(4);
	struct buffer out = {0};
	state_encode(&out, &r);
	for (size_t n = 0; n < out.size; n += 1 + n / 300) {
		uint8_t *bytes = malloc(n + 1);
		memcpy(bytes, out.data, n);
		struct recording got = {0};
		struct err err = {0};
		if (!state_decode(&got, slice_of(bytes, n), &err)) {
			assert_int_equal(err.code, ERR_FORMAT);
		}
		recording_finish(&got);
		free(bytes);
	}
	recording_finish(&r);
	buffer_finish(&out);
}

static void test_log_of_any_numbers(void **state) {
	(void)state;
	for (uint64_t seed = 1; seed < 100; seed++) {
		uint64_t random = seed;
		uint32_t n = 1 + (uint32_t)sample_below(&random, 300);
		struct recording r = {0};
		SAMPLE_ROWS(&r, locations, n);
		FILL_ROWS(&r, frames, n, &random);
		FILL_ROWS(&r, nodes, n, &random);
		sample_strings(&r, seed, n);
		for (uint32_t i = 0; i < n; i++) {
			struct rec_location *l = &r.locations.items[i];
			fill(l, offsetof(struct rec_location, is_mark) + 1, &random);
			l->n_frames %= 3;
			l->first_frame = l->n_frames && n > 2 ? l->first_frame % (n - 2) : 0;
			l->n_frames = n > 2 ? l->n_frames : 0;
		}
		struct log_marks marks = {0};
		struct log_piece piece = {0};
		struct buffer out = {0};
		log_encode(&out, &piece, &marks, &r);
		struct log_reader reader;
		struct recording got = {0};
		struct err err = {0};
		struct counts_row want = {n, n, n, n};
		assert_true(log_reader_init(&reader, &got, want, out.size, &err));
		if (!log_decode(&reader, buffer_view(&out), &err) || !log_reader_is_done(&reader, &err)) {
			fail_msg("seed %d: %s", (int)seed, err.text);
		}
		assert_null(sample_difference(&r, &got));
		vec_finish(&piece.names);
		recording_finish(&r);
		recording_finish(&got);
		buffer_finish(&out);
	}
}

// A file of tomorrow: a table and columns that we do not know, and a column that is no more
static void test_unknown_is_skipped(void **state) {
	(void)state;
	struct buffer out = {0};
	size_t table = table_begin(&out, 99, 5, 1000000);
	buffer_text(&out, "whatever");
	table_end(&out, table);
	table = table_begin(&out, 18, 0, 1); // summary
	size_t column = table_column_begin(&out, 1);
	buffer_varint(&out, 42);
	table_end(&out, column);
	column = table_column_begin(&out, 3); // the one before is missing
	buffer_varint(&out, 43);
	table_end(&out, column);
	column = table_column_begin(&out, 200);
	buffer_text(&out, "of a later version");
	table_end(&out, column);
	table_end(&out, table);

	struct recording r = {0};
	struct err err = {0};
	if (!state_decode(&r, buffer_view(&out), &err)) {
		fail_msg("%s", err.text);
	}
	assert_int_equal(r.summary.allocations, 42);
	assert_int_equal(r.summary.allocated_bytes, 0);
	assert_int_equal(r.summary.frees, 43);
	recording_finish(&r);
	buffer_finish(&out);
}

static void refuse(const struct buffer *payload, const char *words) {
	struct recording r = {0};
	struct err err = {0};
	assert_false(state_decode(&r, buffer_view(payload), &err));
	if (!strstr(err.text, words)) {
		fail_msg("\"%s\" does not say \"%s\"", err.text, words);
	}
	recording_finish(&r);
}

static void test_wrong_tables(void **state) {
	(void)state;
	// A thousand million rows in three bytes
	struct buffer out = {0};
	size_t table = table_begin(&out, 21, 0, 1000000000);
	size_t column = table_column_begin(&out, 1);
	buffer_text(&out, "abc");
	table_end(&out, column);
	table_end(&out, table);
	refuse(&out, "fewer rows than announced");

	// A number that does not fit its field
	buffer_clear(&out);
	table = table_begin(&out, 28, 0, 1);
	column = table_column_begin(&out, 1);
	buffer_varint(&out, 2);
	table_end(&out, column);
	column = table_column_begin(&out, 2);
	buffer_varint(&out, 1ull << 32);
	table_end(&out, column);
	table_end(&out, table);
	refuse(&out, "bad column 2");

	// Columns that go back
	buffer_clear(&out);
	table = table_begin(&out, 18, 0, 1);
	for (uint8_t id = 5; id > 3; id--) {
		column = table_column_begin(&out, id == 5 ? 1 : 0);
		buffer_varint(&out, 1);
		table_end(&out, column);
	}
	table_end(&out, table);
	refuse(&out, "out of order");
	buffer_finish(&out);
}

// A table of no infos, found by the fuzzer
static void test_no_infos(void **state) {
	(void)state;
	struct buffer out = {0};
	table_end(&out, table_begin(&out, table_infos.id, 0, 0));
	struct info_table infos = {0};
	assert_true(infos_decode(&infos, buffer_view(&out), NULL));
	assert_int_equal(infos.n, 0);
	buffer_finish(&out);
}

// ---- maps

static void test_map_against_an_array(void **state) {
	(void)state;
	enum { N_KEYS = 5000 };
	static uint64_t truth[N_KEYS];
	memset(truth, 0, sizeof truth);
	struct map m = {0};
	uint64_t random = 12;
	size_t n = 0;
	for (int i = 0; i < 400000; i++) {
		uint64_t k = sample_random(&random) % N_KEYS;
		// Sequential addresses, then some that share their high bits only
		uint64_t key = k % 2 ? k * 16 : k << 40;
		if (sample_random(&random) % 2) {
			uint64_t value = 1 + sample_random(&random) % 1000;
			n += truth[k] == 0;
			truth[k] = value;
			assert_true(map_put(&m, key, value));
		} else {
			n -= truth[k] != 0;
			assert_int_equal(map_take(&m, key), truth[k]);
			truth[k] = 0;
		}
		assert_int_equal(m.n, n);
		k = sample_random(&random) % N_KEYS;
		assert_int_equal(map_get(&m, k % 2 ? k * 16 : k << 40), truth[k]);
	}
	// Grown by what it held at once, not by what passed through
	assert_true(m.capacity <= 4 * N_KEYS);
	map_clear(&m);
	assert_int_equal(map_get(&m, 16), 0);
	map_finish(&m);
}

static void test_map_of_addresses_against_an_array(void **state) {
	(void)state;
	enum { N_KEYS = 3000 };
	static uint64_t truth[N_KEYS];
	struct map b = {0};
	uint64_t random = 5;
	for (int i = 0; i < 400000; i++) {
		// Close together, far apart, and at addresses that no allocator of C gives out
		uint64_t k = sample_random(&random) % N_KEYS;
		uint64_t ptr = k % 3 == 0 ? k * 16 : k % 3 == 1 ? k << 24 : k * 8 + 4;
		uint64_t value = 1 + sample_random(&random) % 1000;
		switch (sample_random(&random) % 5) {
		case 0:
		case 1:
			assert_true(map_put(&b, ptr, value));
			truth[k] = value;
			break;
		case 2:
		case 3:
			assert_int_equal(map_take(&b, ptr), truth[k]);
			truth[k] = 0;
			break;
		default: assert_int_equal(map_get(&b, ptr), truth[k]);
		}
		if (i % 100000 == 99999) {
			map_clear(&b);
			memset(truth, 0, sizeof truth);
		}
	}
	// What is gone makes room
	assert_true(b.capacity <= 4 * N_KEYS);
	map_finish(&b);
}

int main(void) {
	const struct CMUnitTest tests[] = {
			cmocka_unit_test(test_state_of_any_numbers),
			cmocka_unit_test(test_state_cut_anywhere),
			cmocka_unit_test(test_log_of_any_numbers),
			cmocka_unit_test(test_unknown_is_skipped),
			cmocka_unit_test(test_wrong_tables),
			cmocka_unit_test(test_no_infos),
			cmocka_unit_test(test_map_against_an_array),
			cmocka_unit_test(test_map_of_addresses_against_an_array),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
