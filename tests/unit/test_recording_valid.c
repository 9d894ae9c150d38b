// SPDX-License-Identifier: MIT

// Each invariant of a recording, broken once

#include "trace_samples.h"

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

static struct recording sample(void) {
	struct recording r;
	sample_recording_make(&r, 5, 5, &(struct sample_size){200, 100, 60, 40, 900});
	return r;
}

/** `change` is done to a valid recording `r`; then it must be refused with these words. */
#define BREAK(words, change)                                                    \
	do {                                                                        \
		struct recording r = sample();                                          \
		struct err err = {0};                                                   \
		assert_true(recording_is_valid(&r, &err));                              \
		change;                                                                 \
		if (recording_is_valid(&r, &err) || !strstr(err.text, words)) {         \
			fail_msg("%s: \"%s\" instead of \"%s\"", #change, err.text, words); \
		}                                                                       \
		assert_false(recording_is_valid(&r, NULL));                             \
		recording_finish(&r);                                                   \
	} while (0)

static void test_nones(void **state) {
	(void)state;
	BREAK("row 0", r.strings.n = 0);
	BREAK("row 0", r.locations.n = 0);
	BREAK("row 0", r.nodes.n = 0);
	BREAK("row 0", r.threads.n = 0);
	BREAK("row 0", r.modules.n = 0);
	BREAK("row 0", r.strings.items[0] = slice_of_text("x"));
	BREAK("row 0", r.nodes.items[0].parent = 1);
	BREAK("row 0", r.locations.items[0].module = 1);
}

static void test_meta(void **state) {
	(void)state;
	BREAK("meta", r.meta.exe = r.strings.n);
	BREAK("meta", r.meta.cwd = UINT32_MAX);
	BREAK("meta", r.meta.host = r.strings.n);
	BREAK("meta", r.meta.version = r.strings.n);
	BREAK("meta", r.meta.n_argv = r.strings.n);
	BREAK("meta", r.meta.argv_first = UINT32_MAX);
	BREAK("meta", r.meta.ended = 9);
	BREAK("meta", r.meta.source = 9);
	BREAK("meta", r.meta.is_complete = 2);
}

static void test_code(void **state) {
	(void)state;
	BREAK("module 1", r.modules.items[1].start = r.modules.items[1].end + 1);
	BREAK("module 2", r.modules.items[2].path = r.strings.n);
	BREAK("module 2", r.modules.items[2].suppressions = r.strings.n);
	BREAK("module 2", r.modules.items[2].build_id_bytes = 33);
	BREAK("module 3", r.modules.items[3].image = r.images.n + 1);
	BREAK("location 7", r.locations.items[7].module = r.modules.n);
	BREAK("location 7", r.locations.items[7].first_frame = r.frames.n - 1;
			r.locations.items[7].n_frames = 2);
	BREAK("location 7", r.locations.items[7].first_frame = UINT32_MAX);
	BREAK("frame 9", r.frames.items[9].function = r.strings.n);
	BREAK("frame 9", r.frames.items[9].symbol = r.strings.n);
	BREAK("frame 9", r.frames.items[9].file = r.strings.n);
	BREAK("frame 9", r.frames.items[9].allocates = r.strings.n);
	BREAK("does not come before", r.nodes.items[50].parent = 50);
	BREAK("location", r.nodes.items[50].location = r.locations.n);
}

static void test_stacks(void **state) {
	(void)state;
	BREAK("node", r.stacks.items[3].node = r.nodes.n);
	BREAK("stack 3", r.stacks.items[3].thread = r.threads.n);
	BREAK("more of a part", r.stacks.items[3].live_blocks = r.stacks.items[3].allocations + 1);
	BREAK("more of a part", r.stacks.items[3].peak_bytes = UINT64_MAX);
	BREAK("more of a part", r.stacks.items[3].first_ns = UINT64_MAX);
	BREAK("allocations do not add up", r.stacks.items[3].allocated_bytes += 1);
	BREAK("allocations do not add up", r.summary.temporary++);
	BREAK("peak do not add up", r.summary.peak_bytes++);
	BREAK("peak do not add up", r.summary.peak_blocks++);
	BREAK("live blocks do not add up", r.summary.live_bytes++);
	// Two numbers that add up only modulo 2^64
	BREAK("do not add up", r.stacks.items[1].allocated_bytes += UINT64_MAX / 2 + 1;
			r.stacks.items[2].allocated_bytes += UINT64_MAX / 2 + 1);
	BREAK("not all allocations", r.summary.frees--);
	BREAK("not all allocations", r.summary.gone_at_exec = 1);
}

static void test_time(void **state) {
	(void)state;
	BREAK("time does not rise", r.edges.items[5].time_ns = r.edges.items[4].end_ns - 1);
	BREAK("time does not rise", r.edges.items[5].end_ns = r.edges.items[5].time_ns - 1);
	BREAK("edge 5", r.edges.items[5].min_bytes = r.edges.items[5].bytes + 1);
	BREAK("edge 5", r.edges.items[5].bytes = r.summary.peak_bytes + 1);
	BREAK("edge 6", r.edges.items[5].allocations = 1);
	BREAK("too many", r.edges.n = REC_NEVER);
	BREAK("interval 8", r.intervals.items[8].stack = r.stacks.n);
	BREAK("interval 8", r.intervals.items[8].from = (uint16_t)(r.edges.n + 1));
	BREAK("interval 8", r.intervals.items[8].from = 2; r.intervals.items[8].until = 1);
	BREAK("interval 8", r.intervals.items[8].until = (uint16_t)(r.edges.n + 1));
	BREAK("interval 8", r.intervals.items[8].temporary = 2);
	BREAK("more than was allocated", struct rec_interval v = recording_interval(&r, 8);
			v.bytes = UINT64_MAX; assert_true(recording_set_interval(&r, 8, &v)));
	BREAK("do not add up", r.edges.items[5].blocks++);
	BREAK("do not add up", r.intervals.items[8].bytes--; r.intervals.items[8].until = REC_NEVER;
			r.intervals.items[8].from = 0; r.intervals.items[8].temporary = 0);
}

static void test_sizes(void **state) {
	(void)state;
	BREAK("size 4", r.sizes.items[4].stack = r.stacks.n);
	BREAK("size 4", r.sizes.items[4].live = 2);
	BREAK("size 4", r.sizes.items[4].bytes++);
	BREAK("size 4", r.sizes.items[4].is_class = 1;
			r.sizes.items[4].bytes = r.sizes.items[4].size * 2 + 1);
	BREAK("size 4", r.sizes.items[4].count = UINT64_MAX);
	BREAK("out of order", r.sizes.items[40].stack = 0);
	BREAK("more than was allocated", r.sizes.items[4].size = 0; r.sizes.items[4].bytes = 0;
			r.sizes.items[4].count = 5000; r.sizes.items[4].stack = r.sizes.items[5].stack;
			r.sizes.items[5].size = r.sizes.items[5].bytes = 0; r.sizes.n = 5;
			r.sizes.items[0] = r.sizes.items[1] = r.sizes.items[2] = r.sizes.items[3] =
					r.sizes.items[4]);
}

static void test_the_rest(void **state) {
	(void)state;
	BREAK("thread 1", r.threads.items[1].name = r.strings.n);
	BREAK("thread 1", r.threads.items[1].image = 3);
	BREAK("thread 1", r.threads.items[1].live_bytes = UINT64_MAX);
	BREAK("threads hold more", r.threads.items[2].allocations = 1);
	BREAK("handover 0", r.handovers.items[0].to = r.threads.n);
	BREAK("sample 4", r.samples.items[4].time_ns = 0);
	BREAK("child 0", r.children.items[0].name = r.strings.n);
	BREAK("image 1", r.images.items[1].exe = r.strings.n);
	BREAK("image 1", r.images.items[0].time_ns = 78);
	BREAK("image 0", r.images.items[0].is_unrecorded = 2);
	BREAK("mark 1", r.marks.items[1].name = r.strings.n);
	BREAK("mark 1", r.marks.items[1].time_ns = 4);
	BREAK("allocator 1", r.allocators.items[1].why = r.strings.n);
}

// A recording in which nothing happened
static void test_empty_is_valid(void **state) {
	(void)state;
	struct slice none = {(const uint8_t *)"", 0};
	struct rec_module module = {0};
	struct rec_location location = {0};
	struct rec_node node = {0};
	struct rec_thread thread = {0};
	struct recording r = {0};
	r.strings.items = &none;
	r.modules.items = &module;
	r.locations.items = &location;
	r.nodes.items = &node;
	r.threads.items = &thread;
	r.strings.n = r.modules.n = r.locations.n = r.nodes.n = r.threads.n = 1;
	struct err err = {0};
	assert_true(recording_is_valid(&r, &err));
}

int main(void) {
	const struct CMUnitTest tests[] = {
			cmocka_unit_test(test_nones),
			cmocka_unit_test(test_meta),
			cmocka_unit_test(test_code),
			cmocka_unit_test(test_stacks),
			cmocka_unit_test(test_time),
			cmocka_unit_test(test_sizes),
			cmocka_unit_test(test_the_rest),
			cmocka_unit_test(test_empty_is_valid),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
