// SPDX-License-Identifier: MIT

// The growing file at every moment: the writer killed after any byte, copies taken meanwhile

#include "trace_samples.h"

#include <setjmp.h>
#include <stdarg.h>
#include <zstd.h>
#include <cmocka.h>

// 1 in the long form: after every byte
static size_t stride = 11;

enum { N_CHECKPOINTS = 20, N_COPIES = 100, MAX_WRITES = 20000 };

// All writes of a recording with 20 checkpoints and, if asked for, events over their budget
struct write {
	uint64_t at;
	size_t n;
	uint8_t *data;
};

struct story {
	struct recording states[N_CHECKPOINTS];
	struct write writes[MAX_WRITES];
	size_t n;
	size_t done[N_CHECKPOINTS]; // the checkpoint was there after that many writes
};

static bool note_write(void *user, uint64_t at, const void *data, size_t n, struct err *err) {
	struct story *s = user;
	(void)err;
	assert_true(s->n < MAX_WRITES);
	s->writes[s->n] = (struct write){at, n, malloc(n + 1)};
	memcpy(s->writes[s->n++].data, data, n);
	return true;
}

static void some_events(struct trace_writer *w, uint64_t *random, uint64_t *ptr, uint64_t n) {
	for (uint64_t i = 0; i < n; i++) {
		struct trace_event e = {.ptr = (*ptr)++ * 16,
				.size = sample_random(random) % 5000,
				.node = 1,
				.kind = TRACE_ALLOC};
		assert_true(trace_writer_events(w, &e, 1, NULL));
	}
}

static struct story *tell(uint64_t seed, bool has_events) {
	struct story *s = calloc(1, sizeof *s);
	struct trace_writer *w = trace_writer_create((struct trace_sink){note_write, s}, 6000, NULL);
	struct sample_size size = {3, 2, 2, 3, 5};
	uint64_t random = seed;
	uint64_t ptr = 1;
	for (unsigned i = 0; i < N_CHECKPOINTS; i++) {
		if (has_events) {
			some_events(w, &random, &ptr, 1 + sample_below(&random, 2000));
		}
		sample_recording_make(&s->states[i], seed, seed + i, &size);
		assert_true(trace_writer_checkpoint(w, &s->states[i], NULL));
		s->done[i] = s->n;
		size.nodes += i % 3 == 1 ? 0 : (uint32_t)sample_below(&random, 40);
		size.frames += i % 3 == 1 ? 0 : (uint32_t)sample_below(&random, 40);
		size.blocks = i == 10 ? 2500 : (uint32_t)sample_below(&random, 200);
		size.edges = 1 + (uint32_t)sample_below(&random, 20);
	}
	trace_writer_destroy(w);
	return s;
}

static void forget(struct story *s) {
	for (int i = 0; i < N_CHECKPOINTS; i++) {
		recording_finish(&s->states[i]);
	}
	for (size_t i = 0; i < s->n; i++) {
		free(s->writes[i].data);
	}
	free(s);
}

/** Which of the states the file reads as; -1: none, with a clear error. */
static int read_state(const struct story *s, struct slice bytes, struct err *err) {
	struct trace_source src = sample_source(&bytes);
	struct recording got = {0};
	*err = (struct err){0};
	if (!trace_read(&got, NULL, &src, 0, err)) {
		assert_int_not_equal(err->code, ERR_NONE);
		assert_true(err->text[0] != 0);
		return -1;
	}
	int found = -2; // not one of ours: nonsense
	for (int i = 0; i < N_CHECKPOINTS && found < 0; i++) {
		found = sample_difference(&got, &s->states[i]) ? found : i;
	}
	assert_int_not_equal(found, -2);
	recording_finish(&got);
	return found;
}

static bool is_row_of_frames(struct slice bytes) {
	static uint8_t out[1 << 16];
	ZSTD_DStream *zstd = ZSTD_createDStream();
	ZSTD_inBuffer in = {bytes.data, bytes.size, 0};
	size_t left = 0;
	while (in.pos < in.size && !ZSTD_isError(left)) {
		ZSTD_outBuffer o = {out, sizeof out, 0};
		left = ZSTD_decompressStream(zstd, &o, &in);
	}
	ZSTD_freeDStream(zstd);
	return left == 0;
}

static int n_done(const struct story *s, size_t n_writes) {
	int done = 0;
	while (done < N_CHECKPOINTS && s->done[done] <= n_writes) {
		done++;
	}
	return done;
}

static void test_killed_after_every_byte(void **state) {
	(void)state;
	struct story *s = tell(1, true);
	struct sample_file file = {0};
	int newest = -1;
	for (size_t i = 0; i < s->n; i++) {
		const struct write *w = &s->writes[i];
		int done = n_done(s, i);
		struct err err;
		// Eight bytes arrive whole or not at all; a page of padding is as dull in all its parts
		size_t step = w->n == 4096 ? 2039 : w->n > 1000 ? 13 * stride : stride;
		for (size_t n = 1; w->n > 8 && n < w->n; n += step) {
			assert_true(sample_file_store(&file, w->at, w->data, n));
			int got = read_state(s, buffer_view(&file.bytes), &err);
			assert_in_range(got + 1, done, done + 1);
			assert_true(got >= newest);
			newest = got;
		}
		assert_true(sample_file_store(&file, w->at, w->data, w->n));
		assert_true(is_row_of_frames(buffer_view(&file.bytes)));
		int got = read_state(s, buffer_view(&file.bytes), &err);
		assert_in_range(got + 1, done, done + 1);
		newest = got;
	}
	assert_int_equal(newest, N_CHECKPOINTS - 1);
	buffer_finish(&file.bytes);
	forget(s);
}

// The file after `n_writes` writes
static void image(const struct story *s, size_t n_writes, struct sample_file *out) {
	buffer_clear(&out->bytes);
	for (size_t i = 0; i < n_writes; i++) {
		assert_true(sample_file_store(out, s->writes[i].at, s->writes[i].data, s->writes[i].n));
	}
}

// A copy whose first part is older than its second: the file changed once meanwhile
static void test_copy_with_a_jump(void **state) {
	(void)state;
	for (uint64_t seed = 1; seed < 5; seed++) {
		struct story *s = tell(seed, seed % 2);
		struct sample_file before = {0};
		struct sample_file after = {0};
		uint64_t random = seed;
		for (int round = 0; round < 12; round++) {
			size_t a = s->done[0] + sample_random(&random) % (s->n - s->done[0]);
			size_t b = a + sample_random(&random) % (s->n - a);
			image(s, a, &before);
			image(s, b, &after);
			struct buffer copy = {0};
			buffer_slice(&copy, buffer_view(&after.bytes));
			for (size_t x = 0; x <= before.bytes.size; x += 97 * stride) {
				memcpy(copy.data, before.bytes.data, x);
				struct err err;
				int got = read_state(s, buffer_view(&copy), &err);
				// The jump may tear one slot, and the other may be in the making: there is a third
				if (got + 9 < n_done(s, a) || got < 0 || got > n_done(s, b)) {
					fail_msg(
							"seed %d, copy at byte %zu of writes %zu and %zu: state %d of %d to %d; %s",
							(int)seed, x, a, b, got, n_done(s, a) - 1, n_done(s, b), err.text);
				}
			}
			buffer_finish(&copy);
		}
		buffer_finish(&before.bytes);
		buffer_finish(&after.bytes);
		forget(s);
	}
}

// A copy from front to back, some bytes per write of the writer
static void test_slow_copies(void **state) {
	(void)state;
	int n_opened = 0;
	for (uint64_t seed = 0; seed < N_COPIES; seed++) {
		struct story *s = tell(seed % 4, seed % 2);
		uint64_t random = seed;
		uint64_t rate = 1ull << (6 + sample_random(&random) % 12);
		struct sample_file file = {0};
		struct buffer copy = {0};
		size_t start = s->done[0] + sample_random(&random) % (s->n - s->done[0]);
		image(s, start, &file);
		size_t i = start;
		for (; copy.size < file.bytes.size; i++) {
			size_t left = file.bytes.size - copy.size;
			buffer_bytes(&copy, file.bytes.data + copy.size, left < rate ? left : rate);
			if (i < s->n) {
				assert_true(sample_file_store(&file, s->writes[i].at, s->writes[i].data,
						s->writes[i].n));
			}
		}
		struct err err;
		int got = read_state(s, buffer_view(&copy), &err);
		n_opened += got >= 0;
		int took = n_done(s, i < s->n ? i : s->n) - n_done(s, start);
		if (took <= 4 && got + 1 < n_done(s, start) - 1) {
			fail_msg("seed %d, %d bytes at a time, %d checkpoints meanwhile: state %d; %s",
					(int)seed, (int)rate, took, got, err.text);
		}
		buffer_finish(&file.bytes);
		buffer_finish(&copy);
		forget(s);
	}
	print_message("%d of %d slow copies open\n", n_opened, N_COPIES);
	assert_true(n_opened >= N_COPIES * 19 / 20);
}

int main(void) {
	stride = getenv("LONG") ? 1 : stride;
	const struct CMUnitTest tests[] = {
			cmocka_unit_test(test_killed_after_every_byte),
			cmocka_unit_test(test_copy_with_a_jump),
			cmocka_unit_test(test_slow_copies),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
