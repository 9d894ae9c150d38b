// SPDX-License-Identifier: MIT

// Whole files: what is written is read, at every moment of writing

#include "trace/file/scan.h"
#include "trace_samples.h"

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

static struct sample_size random_size(uint64_t *random, uint32_t scale) {
	struct sample_size size = {.nodes = 2 + (uint32_t)sample_below(random, scale)};
	size.frames = (uint32_t)sample_below(random, scale);
	size.stacks = (uint32_t)sample_below(random, size.nodes);
	size.edges = 1 + (uint32_t)sample_below(random, 600);
	size.blocks = (uint32_t)sample_below(random, scale * 2);
	return size;
}

static void assert_reads_as(struct slice bytes, const struct recording *expected,
		bool is_finished) {
	struct trace_source src = sample_source(&bytes);
	struct recording got = {0};
	struct trace_facts facts = {0};
	struct err err = {0};
	if (!trace_read(&got, &facts, &src, 0, &err)) {
		fail_msg("%s", err.text);
	}
	const char *difference = sample_difference(&got, expected);
	if (difference) {
		fail_msg("%s differ", difference);
	}
	assert_int_equal(facts.is_finished, is_finished);
	assert_false(facts.is_torn);
	assert_int_equal(facts.good_bytes, bytes.size);
	assert_int_equal(facts.version, 1);
	recording_finish(&got);
}

static void test_samples_are_valid(void **state) {
	(void)state;
	uint64_t random = 1;
	for (unsigned i = 0; i < 200; i++) {
		struct sample_size size = random_size(&random, 300);
		struct recording r;
		sample_recording_make(&r, i, i, &size);
		struct err err = {0};
		if (!recording_is_valid(&r, &err)) {
			fail_msg("sample %d: %s", i, err.text);
		}
		recording_finish(&r);
	}
}

static void test_whole_round_trip(void **state) {
	(void)state;
	uint64_t random = 2;
	for (unsigned i = 0; i < 100; i++) {
		struct sample_size size = random_size(&random, i == 50 ? 300000 : 1000);
		struct recording r;
		sample_recording_make(&r, i, i, &size);
		struct sample_file file = {0};
		assert_true(trace_write_whole(sample_file_sink(&file), &r, NULL, NULL, NULL));
		assert_reads_as(buffer_view(&file.bytes), &r, true);
		buffer_finish(&file.bytes);
		recording_finish(&r);
	}
}

static void test_growing_round_trip(void **state) {
	(void)state;
	uint64_t random = 3;
	for (unsigned i = 0; i < 20; i++) {
		struct sample_file file = {0};
		struct trace_writer *w = trace_writer_create(sample_file_sink(&file), 0, NULL);
		assert_non_null(w);
		struct sample_size size = {2, 0, 0, 1, 0};
		for (unsigned k = 0; k < 30; k++) {
			struct recording r;
			sample_recording_make(&r, i, i * 100 + k, &size);
			assert_true(trace_writer_checkpoint(w, &r, NULL));
			assert_reads_as(buffer_view(&file.bytes), &r, false);
			recording_finish(&r);
			size.nodes += (uint32_t)sample_below(&random, 300);
			size.frames += (uint32_t)sample_below(&random, 300);
			size.edges = 1 + (uint32_t)sample_below(&random, 600);
			size.stacks = (uint32_t)sample_below(&random, size.nodes);
			size.blocks = (uint32_t)sample_below(&random, k * 300 + 1);
		}
		trace_writer_destroy(w);
		buffer_finish(&file.bytes);
	}
}

// ---- a disk that is full

static bool write_within(void *user, uint64_t at, const void *data, size_t n, struct err *err) {
	struct sample_file *f = user;
	return at + n <= f->stop_after ? sample_file_store(f, at, data, n)
								   : err_set(err, ERR_LIMIT, "the disk is full");
}

static void assert_totals_are(struct slice bytes, const struct recording *expected) {
	struct trace_source src = sample_source(&bytes);
	struct recording got = {0};
	struct trace_facts facts = {0};
	struct err err = {0};
	if (!trace_read(&got, &facts, &src, 0, &err) || !recording_is_valid(&got, &err)) {
		fail_msg("%s", err.text);
	}
	assert_memory_equal(&got.summary, &expected->summary, sizeof got.summary);
	assert_int_equal(got.meta.duration_ns, expected->meta.duration_ns);
	recording_finish(&got);
}

/** A text, a stack, and a look that saw blocks of them. */
static void add_class(struct recording *r) {
	static const struct rec_look look;
	struct slice *strings = arena_new(&r->arena, struct slice, r->strings.n + 1);
	struct rec_node *nodes = arena_new(&r->arena, struct rec_node, r->nodes.n + 1);
	assert_true(strings && nodes);
	memcpy(strings, r->strings.items, r->strings.n * sizeof *strings);
	memcpy(nodes, r->nodes.items, r->nodes.n * sizeof *nodes);
	strings[r->strings.n] = slice_of_text("a type");
	nodes[r->nodes.n] = (struct rec_node){.parent = r->nodes.n - 1};
	r->strings.items = strings;
	r->nodes.items = nodes;
	const struct rec_class class = {.node = r->nodes.n++, .name = r->strings.n++};
	assert_true(RECORDING_PUT(r, looks, &look, 1) && RECORDING_PUT(r, classes, &class, 1));
	r->parts.n = r->untouched.n = r->fullness.n = 0;
}

static void test_no_row_keeps_what_the_log_lacks(void **state) {
	(void)state;
	struct sample_size size = {20, 20, 10, 30, 100};
	struct recording r;
	sample_recording_make(&r, 1, 1, &size);
	const struct counts_row log = {r.strings.n, r.locations.n, r.frames.n, r.nodes.n};
	add_class(&r);
	assert_true(recording_is_valid(&r, NULL));
	narrow(&r, &log, NARROW_TO_LOG);
	assert_true(recording_is_valid(&r, NULL));
	assert_int_equal(r.classes.items[0].node, log.nodes - 1);
	assert_int_equal(r.classes.items[0].name, 0);
	recording_finish(&r);
}

static void test_totals_go_on_in_a_file_that_cannot_grow(void **state) {
	(void)state;
	unsigned n_narrow = 0, n_as_one = 0;
	for (unsigned i = 0; i < 40; i++) {
		struct sample_file file = {.stop_after = UINT64_MAX};
		struct trace_writer *w = trace_writer_create((struct trace_sink){write_within, &file}, 0,
				NULL);
		struct sample_size size = {20, 20, 10, 30, 100};
		struct recording r;
		sample_recording_make(&r, i, i, &size);
		assert_true(trace_writer_checkpoint(w, &r, NULL));
		recording_finish(&r);
		file.stop_after = file.bytes.size;
		for (unsigned k = 1; k < 20; k++) {
			size.nodes += 20u << (k / 2);
			size.stacks = size.nodes - 1;
			size.edges += 20;
			size.blocks += 1000;
			sample_recording_make(&r, i, i * 100 + k, &size);
			if (!trace_writer_checkpoint(w, &r, NULL)) {
				n_narrow++;
				assert_true(trace_writer_narrow(w, &r, NULL));
				n_as_one += r.stacks.n == 1;
			}
			assert_totals_are(buffer_view(&file.bytes), &r);
			recording_finish(&r);
		}
		assert_int_equal(file.bytes.size, file.stop_after);
		trace_writer_destroy(w);
		buffer_finish(&file.bytes);
	}
	assert_true(n_narrow > n_as_one && n_as_one > 0);
}

int main(void) {
	const struct CMUnitTest tests[] = {
			cmocka_unit_test(test_samples_are_valid),
			cmocka_unit_test(test_whole_round_trip),
			cmocka_unit_test(test_growing_round_trip),
			cmocka_unit_test(test_no_row_keeps_what_the_log_lacks),
			cmocka_unit_test(test_totals_go_on_in_a_file_that_cannot_grow),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
