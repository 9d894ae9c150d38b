// SPDX-License-Identifier: MIT

/*
 * Damaged files: cut, with bits turned, and with contents that make no sense under checksums that
 * are right. The reader says clearly what is wrong, or returns what was written; never anything
 * else.
 */

#include "trace/file/scan.h"
#include "trace_samples.h"

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

static int n_tries = 1000;

enum { N_STATES = 4, N_EVENTS = 3000, MAX_BYTES = 64 << 20 };

struct sample {
	struct recording states[N_STATES]; // what a reader may find
	struct trace_event events[N_EVENTS];
	struct buffer growing, finished;
};

static struct sample *make_sample(void) {
	struct sample *s = calloc(1, sizeof *s);
	struct sample_file growing = {0};
	struct sample_file finished = {0};
	struct trace_writer *w = trace_writer_create(sample_file_sink(&growing), 0, NULL);
	uint64_t random = 4;
	for (uint32_t i = 0; i < N_STATES; i++) {
		for (uint32_t k = 0; k < N_EVENTS / N_STATES; k++) {
			struct trace_event *e = &s->events[i * (N_EVENTS / N_STATES) + k];
			e->kind = k % 3 == 2 ? TRACE_FREE : TRACE_ALLOC;
			e->ptr = 16 * (1 + k - (e->kind == TRACE_FREE ? 1 + k % 2 : 0));
			e->node = e->kind == TRACE_ALLOC ? (uint32_t)sample_below(&random, 40) : 0;
			e->size = e->kind == TRACE_ALLOC ? sample_below(&random, 100) : 0;
			e->thread = (1 + k / 400) & TRACE_THREAD_MAX;
			e->time_ns = k * 70;
			assert_true(trace_writer_events(w, e, 1, NULL));
		}
		struct sample_size size = {60 + i * 30, 50 + i * 20, 20 + i, 30, 100 + 50 * i};
		sample_recording_make(&s->states[i], 3, i, &size);
		assert_true(trace_writer_checkpoint(w, &s->states[i], NULL));
	}
	struct trace_source old = sample_file_source(&growing);
	assert_true(trace_write_whole(sample_file_sink(&finished), &s->states[N_STATES - 1], w, &old,
			NULL));
	trace_writer_destroy(w);
	s->growing = growing.bytes;
	s->finished = finished.bytes;
	return s;
}

static void forget(struct sample *s) {
	for (int i = 0; i < N_STATES; i++) {
		recording_finish(&s->states[i]);
	}
	buffer_finish(&s->growing);
	buffer_finish(&s->finished);
	free(s);
}

static bool is_one_of(const struct sample *s, const struct recording *r, int first) {
	for (int i = first; i < N_STATES; i++) {
		if (!sample_difference(r, &s->states[i])) {
			return true;
		}
	}
	return false;
}

static void assert_clear(const struct err *err) {
	assert_int_not_equal(err->code, ERR_NONE);
	assert_true(strlen(err->text) > 10);
}

/** Reads: true and `out` is valid, or false and the error is clear. */
static bool read_damaged(struct slice bytes, struct recording *out) {
	struct trace_source src = sample_source(&bytes);
	struct err err = {0};
	*out = (struct recording){0};
	if (trace_read(out, NULL, &src, MAX_BYTES, &err)) {
		assert_true(recording_is_valid(out, &err));
		return true;
	}
	assert_clear(&err);
	assert_null(out->arena.chunks);
	return false;
}

struct seen {
	const struct sample *sample;
	size_t n;
	bool is_other;
};

static bool compare_events(void *user, const struct trace_event *events, size_t n) {
	struct seen *seen = user;
	for (size_t i = 0; i < n; i++, seen->n++) {
		struct trace_event x = events[i];
		struct trace_event y = seen->n < N_EVENTS ? seen->sample->events[seen->n] : x;
		x.ptr = y.ptr = 0;
		seen->is_other |= seen->n >= N_EVENTS || memcmp(&x, &y, sizeof x) != 0;
	}
	return true;
}

/** All events, or a clear error after some of them. */
static bool read_damaged_events(const struct sample *s, struct slice bytes, bool must_agree) {
	struct trace_source src = sample_source(&bytes);
	struct err err = {0};
	struct seen seen = {.sample = s};
	bool ok = trace_read_events(&src, NULL, compare_events, &seen, &err);
	if (!ok) {
		assert_clear(&err);
	}
	if (must_agree) {
		assert_false(seen.is_other);
		assert_true(!ok || seen.n == N_EVENTS);
	}
	return ok;
}

static void test_undamaged(void **state) {
	struct sample *s = *state;
	struct recording r;
	assert_true(read_damaged(buffer_view(&s->growing), &r));
	assert_true(is_one_of(s, &r, N_STATES - 1));
	recording_finish(&r);
	assert_true(read_damaged(buffer_view(&s->finished), &r));
	assert_true(is_one_of(s, &r, N_STATES - 1));
	recording_finish(&r);
	assert_true(read_damaged_events(s, buffer_view(&s->growing), true));
	assert_true(read_damaged_events(s, buffer_view(&s->finished), true));
}

// ---- cut

static void cut(const struct sample *s, const struct buffer *file, size_t n, bool is_finished) {
	// In memory of its own, so that a step past the end is seen
	uint8_t *bytes = malloc(n + 1);
	memcpy(bytes, file->data, n);
	struct recording r;
	if (read_damaged(slice_of(bytes, n), &r)) {
		assert_true(is_one_of(s, &r, is_finished ? N_STATES - 1 : 0));
		recording_finish(&r);
	} else {
		assert_true(n < file->size);
	}
	(void)read_damaged_events(s, slice_of(bytes, n), is_finished);
	free(bytes);
}

static void test_truncations(void **state) {
	struct sample *s = *state;
	uint64_t random = 6;
	for (int i = 0; i < n_tries; i++) {
		cut(s, &s->finished, sample_random(&random) % s->finished.size, true);
		cut(s, &s->growing, sample_random(&random) % s->growing.size, false);
	}
}

static void test_cut_finished_file_says_so(void **state) {
	struct sample *s = *state;
	struct slice bytes = {s->finished.data, s->finished.size - 1};
	struct trace_source src = sample_source(&bytes);
	struct recording r = {0};
	struct err err = {0};
	assert_false(trace_read(&r, NULL, &src, 0, &err));
	assert_non_null(strstr(err.text, "cut short"));
}

// ---- bits turned

static void flip_bit(const struct sample *s, const struct buffer *file, uint64_t bit,
		bool is_finished, int *n_errors) {
	file->data[bit / 8] ^= (uint8_t)(1u << bit % 8);
	struct recording r;
	if (read_damaged(buffer_view(file), &r)) {
		assert_true(is_one_of(s, &r, is_finished ? N_STATES - 1 : 0));
		recording_finish(&r);
	} else {
		++*n_errors;
	}
	(void)read_damaged_events(s, buffer_view(file), is_finished);
	file->data[bit / 8] ^= (uint8_t)(1u << bit % 8);
}

static void test_bit_flips(void **state) {
	struct sample *s = *state;
	uint64_t random = 8;
	int n_finished = 0;
	int n_growing = 0;
	for (int i = 0; i < n_tries; i++) {
		flip_bit(s, &s->finished, sample_random(&random) % (s->finished.size * 8), true,
				&n_finished);
		flip_bit(s, &s->growing, sample_random(&random) % (s->growing.size * 8), false, &n_growing);
	}
	print_message("%d flips: %d errors in the finished file, %d in the growing one\n", n_tries,
			n_finished, n_growing);
	// The finished file is nearly all contents; the growing one mostly room
	assert_true(n_finished > n_tries / 4);
}

// ---- contents turned, checksums right

static void damage(struct buffer *raw, uint64_t *random) {
	uint64_t n = 1 + sample_below(random, 4);
	for (uint64_t i = 0; i < n; i++) {
		uint64_t at = sample_random(random) % raw->size;
		switch (sample_random(random) % 4) {
		case 0: raw->data[at] = (uint8_t)sample_random(random); break;
		case 1: raw->data[at] = 0xff; break;
		case 2: raw->size = at + 1; break;
		default: raw->data[at] ^= (uint8_t)(1u << sample_random(random) % 8);
		}
	}
}

/** One of the blocks of a finished file put together anew with other contents. */
static void rebuild(const struct sample *s, const struct scan_block *block, struct buffer *raw,
		struct buffer *out) {
	struct buffer stored = {0};
	pack(&stored, buffer_view(raw), PACK_FAST);
	struct frame_block header = block->header;
	header.stored_bytes = stored.size;
	header.raw_bytes = raw->size;
	uint64_t next = block->stored_at + block->header.stored_bytes;
	uint8_t bytes[FRAME_TAG_BYTES + FRAME_BLOCK_BYTES + FRAME_ALIGN] = {0};
	uint32_t payload = FRAME_BLOCK_BYTES + (uint32_t)frame_block_gap(stored.size);
	frame_put_tag(bytes, FRAME_BLOCK, payload);
	frame_put_block(bytes + FRAME_TAG_BYTES, &header);
	buffer_clear(out);
	buffer_bytes(out, s->finished.data, block->at);
	buffer_bytes(out, bytes, FRAME_TAG_BYTES + payload);
	buffer_slice(out, buffer_view(&stored));
	buffer_bytes(out, s->finished.data + next, s->finished.size - next);
	struct frame_head head = {.version = TRACE_VERSION,
			.reader = TRACE_READER_VERSION,
			.finished_bytes = out->size};
	frame_put_head(out->data + FRAME_TAG_BYTES, &head);
	buffer_finish(&stored);
}

static int damage_blocks(const struct sample *s, const struct scan_blocks *blocks,
		uint64_t *random) {
	int n_errors = 0;
	struct slice whole = buffer_view(&s->finished);
	struct trace_source src = sample_source(&whole);
	struct buffer raw = {0};
	struct buffer file = {0};
	for (int i = 0; i < n_tries; i++) {
		const struct scan_block *b = &blocks->items[sample_random(random) % blocks->n];
		assert_true(scan_unpack(&raw, &src, b, MAX_BYTES, NULL));
		damage(&raw, random);
		rebuild(s, b, &raw, &file);
		struct recording r;
		bool ok = read_damaged(buffer_view(&file), &r);
		recording_finish(&r);
		ok &= read_damaged_events(s, buffer_view(&file), false);
		n_errors += !ok;
	}
	buffer_finish(&raw);
	buffer_finish(&file);
	return n_errors;
}

static void test_damage_under_right_checksums(void **state) {
	struct sample *s = *state;
	struct slice whole = buffer_view(&s->finished);
	struct trace_source src = sample_source(&whole);
	struct scan scan;
	assert_true(scan_file(&scan, &src, MAX_BYTES, NULL));
	uint64_t random = 10;
	print_message("of %d each: %d errors in the log, %d in the state, %d in infos, %d in events\n",
			n_tries, damage_blocks(s, &scan.log, &random), damage_blocks(s, &scan.states, &random),
			damage_blocks(s, &scan.infos, &random), damage_blocks(s, &scan.events, &random));
	scan_finish(&scan);
}

// ---- what files say of themselves

static void assert_says(struct slice bytes, const char *words) {
	struct trace_source src = sample_source(&bytes);
	struct recording r = {0};
	struct err err = {0};
	assert_false(trace_read(&r, NULL, &src, 0, &err));
	if (!strstr(err.text, words)) {
		fail_msg("\"%s\" does not say \"%s\"", err.text, words);
	}
	err = (struct err){0};
	assert_false(trace_read_events(&src, NULL, compare_events, NULL, &err));
	assert_clear(&err);
}

static void test_other_files(void **state) {
	struct sample *s = *state;
	assert_says(slice_of("", 0), "empty");
	assert_says(slice_of_text("v 1.4.0 heaptrack"), "not a recording");
	assert_says(slice_of(s->finished.data, 40), "ends within its head");

	struct buffer newer = {0};
	buffer_slice(&newer, buffer_view(&s->finished));
	struct frame_head head = {.version = 7, .reader = 5, .finished_bytes = newer.size};
	frame_put_head(newer.data + FRAME_TAG_BYTES, &head);
	assert_says(buffer_view(&newer),
			"a newer heaptrack: to read it takes one that reads version 5 of the format, and "
			"this one reads up to 1");
	assert_true(trace_is_ours(buffer_view(&newer)));
	// A newer version that old readers may read is read
	head.reader = 1;
	frame_put_head(newer.data + FRAME_TAG_BYTES, &head);
	struct recording r;
	assert_true(read_damaged(buffer_view(&newer), &r));
	recording_finish(&r);
	buffer_finish(&newer);
}

// A small file that unpacks to gigabytes, with everything right but its purpose
static void test_bomb(void **state) {
	struct sample *s = *state;
	struct slice whole = buffer_view(&s->finished);
	struct trace_source src = sample_source(&whole);
	struct scan scan;
	assert_true(scan_file(&scan, &src, MAX_BYTES, NULL));
	struct buffer zeros = {0};
	struct buffer file = {0};
	memset(buffer_room(&zeros, 100 << 20), 0, 100 << 20);
	zeros.size = 100 << 20;
	rebuild(s, &scan.states.items[0], &zeros, &file);
	assert_true(file.size < 100000);
	struct slice bytes = buffer_view(&file);
	src = sample_source(&bytes);
	struct recording r = {0};
	struct err err = {0};
	assert_false(trace_read(&r, NULL, &src, MAX_BYTES, &err));
	assert_int_equal(err.code, ERR_LIMIT);
	buffer_finish(&zeros);
	buffer_finish(&file);
	scan_finish(&scan);
}

// ---- memory

// Whatever the limit is, it is kept, or said to be too small
static void test_memory_limit(void **state) {
	struct sample *s = *state;
	bool had_enough = false;
	for (uint64_t limit = 1000; limit < MAX_BYTES; limit += limit / 3) {
		struct slice bytes = buffer_view(&s->finished);
		struct trace_source src = sample_source(&bytes);
		struct recording r = {0};
		struct err err = {0};
		bool ok = trace_read(&r, NULL, &src, limit, &err);
		assert_true(ok || err.code == ERR_LIMIT);
		assert_true(!ok || r.arena.bytes <= limit);
		assert_true(ok || !had_enough);
		had_enough |= ok;
		recording_finish(&r);
	}
	assert_true(had_enough);
}

static int set_up(void **state) {
	*state = make_sample();
	return 0;
}

static int tear_down(void **state) {
	forget(*state);
	return 0;
}

int main(int argc, char **argv) {
	n_tries = argc > 1 ? atoi(argv[1]) : n_tries;
	const struct CMUnitTest tests[] = {
			cmocka_unit_test(test_undamaged),
			cmocka_unit_test(test_truncations),
			cmocka_unit_test(test_cut_finished_file_says_so),
			cmocka_unit_test(test_bit_flips),
			cmocka_unit_test(test_damage_under_right_checksums),
			cmocka_unit_test(test_other_files),
			cmocka_unit_test(test_bomb),
			cmocka_unit_test(test_memory_limit),
	};
	return cmocka_run_group_tests(tests, set_up, tear_down);
}
