// SPDX-License-Identifier: MIT

// Every allocation of a reader fails once

#include "failing.h"
#include "trace_samples.h"

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

static struct recording states[2];

// Its own memory must not fail: the file takes it before
static struct sample_file file_with_room(void) {
	struct sample_file file = {0};
	assert_non_null(buffer_room(&file.bytes, 4 << 20));
	return file;
}

static bool add_events(struct trace_writer *w, struct err *err) {
	bool ok = true;
	for (uint32_t i = 0; i < 3000; i++) {
		struct trace_event e = {.kind = i % 7 == 6 ? TRACE_REALLOC
						: i % 3 == 2               ? TRACE_FREE
												   : TRACE_ALLOC,
				.ptr = 16 + 16 * (i * 7 % 100)};
		e.node = e.kind == TRACE_ALLOC;
		e.size = e.kind == TRACE_ALLOC ? i % 90 : 0;
		ok &= trace_writer_events(w, &e, 1, err);
	}
	return ok;
}

static bool write_both(struct sample_file *growing, struct sample_file *finished, struct err *err) {
	struct trace_writer *w = trace_writer_create(sample_file_sink(growing), 2000, err);
	if (!w) {
		return false;
	}
	bool ok = true;
	for (int i = 0; i < 6; i++) {
		ok &= add_events(w, err);
		ok &= trace_writer_checkpoint(w, &states[i > 2], err);
	}
	struct trace_source old = sample_file_source(growing);
	ok &= trace_write_whole(sample_file_sink(finished), &states[1], w, &old, err);
	trace_writer_destroy(w);
	return ok;
}

static bool ignore_events(void *user, const struct trace_event *events, size_t n) {
	(void)user;
	return events != NULL && n > 0;
}

static struct sample_file finished;

static void read_all(void) {
	struct slice bytes = buffer_view(&finished.bytes);
	struct trace_source src = sample_source(&bytes);
	struct recording got = {0};
	assert_true(trace_read(&got, NULL, &src, 0, NULL));
	assert_null(sample_difference(&got, &states[1]));
	assert_true(trace_read_events(&src, &got, ignore_events, NULL, NULL));
	recording_finish(&got);
}

static void each_lack_of_memory_ends_a_reader(void **state) {
	(void)state;
	struct sample_file growing = file_with_room();
	finished = file_with_room();
	assert_true(write_both(&growing, &finished, NULL));
	assert_true(ends_at_each(read_all) > 20);
	buffer_finish(&growing.bytes);
	buffer_finish(&finished.bytes);
}

int main(void) {
	const struct CMUnitTest tests[] = {
			cmocka_unit_test(each_lack_of_memory_ends_a_reader),
	};
	sample_recording_make(&states[0], 2, 2, &(struct sample_size){30, 20, 10, 10, 40});
	sample_recording_make(&states[1], 2, 3, &(struct sample_size){900, 400, 300, 30, 3000});
	int status = cmocka_run_group_tests(tests, NULL, NULL);
	recording_finish(&states[0]);
	recording_finish(&states[1]);
	return status;
}
