// SPDX-License-Identifier: MIT

// Files of later versions: what is new is skipped and changes no answer, reader 2 is refused

#include "trace/file/scan.h"
#include "trace/tables/tables.h"
#include "trace_samples.h"

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

enum { N_EVENTS = 2000, MAX_BYTES = 64 << 20 };

struct sample {
	struct recording recording;
	struct trace_event events[N_EVENTS];
	struct buffer finished;
};

static void put_block(struct buffer *out, struct frame_block header, struct slice raw) {
	struct buffer stored = {0};
	pack(&stored, raw, PACK_FAST);
	header.stored_bytes = stored.size;
	header.raw_bytes = raw.size;
	uint8_t bytes[FRAME_TAG_BYTES + FRAME_BLOCK_BYTES + FRAME_ALIGN] = {0};
	uint32_t payload = FRAME_BLOCK_BYTES + (uint32_t)frame_block_gap(stored.size);
	frame_put_tag(bytes, FRAME_BLOCK, payload);
	frame_put_block(bytes + FRAME_TAG_BYTES, &header);
	buffer_bytes(out, bytes, FRAME_TAG_BYTES + payload);
	buffer_slice(out, buffer_view(&stored));
	buffer_finish(&stored);
}

static void put_head(struct buffer *out, uint16_t version, uint16_t reader) {
	struct frame_head head = {.version = version, .reader = reader, .finished_bytes = out->size};
	frame_put_tag(out->data, FRAME_HEAD, FRAME_HEAD_BYTES);
	frame_put_head(out->data + FRAME_TAG_BYTES, &head);
}

typedef void change_block(struct buffer *raw, uint8_t type, void *user);

static void change_blocks(const struct sample *s, const struct scan_blocks *blocks,
		change_block *change, void *user, struct buffer *out) {
	struct slice whole = buffer_view(&s->finished);
	struct trace_source src = sample_source(&whole);
	struct buffer raw = {0};
	for (size_t i = 0; i < blocks->n; i++) {
		const struct scan_block *b = &blocks->items[i];
		assert_true(scan_unpack(&raw, &src, b, MAX_BYTES, NULL));
		change(&raw, b->header.type, user);
		put_block(out, b->header, buffer_view(&raw));
	}
	buffer_finish(&raw);
}

/** The finished file with other contents; `before`: a block of this type first, 0: none. */
static struct buffer rewrite(const struct sample *s, uint8_t before, change_block *change,
		void *user, uint16_t version, uint16_t reader) {
	struct slice whole = buffer_view(&s->finished);
	struct trace_source src = sample_source(&whole);
	struct scan scan;
	struct buffer out = {0};
	assert_true(scan_file(&scan, &src, MAX_BYTES, NULL));
	buffer_bytes(&out, s->finished.data, FRAME_TAG_BYTES + FRAME_HEAD_BYTES);
	if (before) {
		put_block(&out, (struct frame_block){.type = before, .sequence = 1},
				slice_of_text("of a later version"));
	}
	change_blocks(s, &scan.log, change, user, &out);
	change_blocks(s, &scan.infos, change, user, &out);
	change_blocks(s, &scan.events, change, user, &out);
	change_blocks(s, &scan.states, change, user, &out);
	put_head(&out, version, reader);
	scan_finish(&scan);
	return out;
}

static bool read_it(const struct buffer *file, struct recording *out, struct err *err) {
	struct slice bytes = buffer_view(file);
	struct trace_source src = sample_source(&bytes);
	*out = (struct recording){0};
	*err = (struct err){0};
	return trace_read(out, NULL, &src, MAX_BYTES, err);
}

struct seen {
	const struct sample *sample;
	size_t n;
};

static bool compare_events(void *user, const struct trace_event *events, size_t n) {
	struct seen *seen = user;
	for (size_t i = 0; i < n; i++, seen->n++) {
		struct trace_event x = events[i], y = seen->sample->events[seen->n];
		x.ptr = y.ptr = 0;
		assert_memory_equal(&x, &y, sizeof x);
	}
	return true;
}

static bool read_events(const struct sample *s, const struct buffer *file, struct err *err) {
	struct slice bytes = buffer_view(file);
	struct trace_source src = sample_source(&bytes);
	struct seen seen = {.sample = s};
	*err = (struct err){0};
	bool ok = trace_read_events(&src, &s->recording, compare_events, &seen, err);
	assert_true(!ok || seen.n == N_EVENTS);
	return ok;
}

// ---- what readers skip

static void put_table(struct buffer *out, uint32_t id) {
	size_t table = table_begin(out, id, 7, 1000000);
	buffer_text(out, "of a later version");
	table_end(out, table);
}

static void put_column(struct buffer *out) {
	size_t column = table_column_begin(out, 100);
	buffer_text(out, "of a later version");
	table_end(out, column);
}

/** Each table gets a column that nobody knows, and tables that nobody knows come between. */
static void add_unknown(struct buffer *raw, uint8_t type, void *user) {
	static const uint32_t ids[] =
			{[BLOCK_LOG] = 15, [BLOCK_INFOS] = 51, [BLOCK_EVENTS] = 55, [BLOCK_STATE] = 200};
	struct buffer out = {0};
	struct cursor c = cursor_init(buffer_view(raw));
	struct table_raw t;
	int *n_added = user;
	while (table_next(&t, &c, NULL)) {
		size_t table = table_begin(&out, t.id, t.first, t.n);
		buffer_slice(&out, t.columns);
		put_column(&out);
		table_end(&out, table);
		put_table(&out, ids[type]);
		(*n_added)++;
	}
	buffer_clear(raw);
	buffer_slice(raw, buffer_view(&out));
	buffer_finish(&out);
}

static void test_unknown_is_skipped(void **state) {
	struct sample *s = *state;
	int n_added = 0;
	struct buffer file = rewrite(s, 77, add_unknown, &n_added, 9, 1);
	struct recording r;
	struct err err;
	assert_true(n_added > 20);
	if (!read_it(&file, &r, &err)) {
		fail_msg("%s", err.text);
	}
	assert_null(sample_difference(&r, &s->recording));
	if (!read_events(s, &file, &err)) {
		fail_msg("%s", err.text);
	}
	recording_finish(&r);
	buffer_finish(&file);
}

// ---- what they refuse

static void make_recording(struct recording *r) {
	struct sample_size size = {150, 110, 23, 30, 250};
	*r = (struct recording){0};
	sample_recording_make(r, 3, 1, &size);
}

static void keep(struct buffer *raw, uint8_t type, void *user) {
	(void)raw, (void)type, (void)user;
}

static void test_readers(void **state) {
	struct sample *s = *state;
	struct recording r;
	struct err err;
	struct buffer file = rewrite(s, 0, keep, NULL, 2, 2);
	assert_false(read_it(&file, &r, &err));
	assert_int_equal(err.code, ERR_UNSUPPORTED);
	assert_string_equal(err.text,
			"written by a newer heaptrack: to read it takes one that reads version 2 of the format, "
			"and this one reads up to 1; please update heaptrack");
	assert_false(read_events(s, &file, &err));
	assert_int_equal(err.code, ERR_UNSUPPORTED);
	buffer_finish(&file);
}

static int set_up(void **state) {
	struct sample *s = calloc(1, sizeof *s);
	struct sample_file growing = {0}, finished = {0};
	struct trace_writer *w = trace_writer_create(sample_file_sink(&growing), 0, NULL);
	make_recording(&s->recording);
	for (uint32_t k = 0; k < N_EVENTS; k++) {
		bool is_free = k % 3 == 2;
		s->events[k] = (struct trace_event){.kind = is_free ? TRACE_FREE : TRACE_ALLOC,
				.ptr = 16 * (1 + k - (is_free ? 1 : 0)),
				.node = is_free ? 0 : k % 40,
				.size = is_free ? 0 : k % 100,
				.thread = (1 + k / 400) & TRACE_THREAD_MAX,
				.time_ns = k * 70};
	}
	assert_true(trace_writer_events(w, s->events, N_EVENTS, NULL));
	assert_true(trace_writer_checkpoint(w, &s->recording, NULL));
	struct trace_source old = sample_file_source(&growing);
	assert_true(trace_write_whole(sample_file_sink(&finished), &s->recording, w, &old, NULL));
	trace_writer_destroy(w);
	buffer_finish(&growing.bytes);
	s->finished = finished.bytes;
	*state = s;
	return 0;
}

static int tear_down(void **state) {
	struct sample *s = *state;
	recording_finish(&s->recording);
	buffer_finish(&s->finished);
	free(s);
	return 0;
}

int main(void) {
	const struct CMUnitTest tests[] = {
			cmocka_unit_test(test_unknown_is_skipped),
			cmocka_unit_test(test_readers),
	};
	return cmocka_run_group_tests(tests, set_up, tear_down);
}
