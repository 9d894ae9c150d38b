// SPDX-License-Identifier: MIT
#include "formats/heaptrack.h"

#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <cmocka.h>

// Lines read in one go and in portions of every size must be the same records: portions of one byte go
// the slow way, whole texts the short one of events; and events that come in batches the same as those
// that come one by one.

static bool write_down(void *user, const struct heaptrack_record *r, struct err *err) {
	(void)err;
	struct buffer *out = user;
	buffer_printf(out, "%c%s '%.*s'", r->kind, r->is_bad ? " bad" : "", SLICE_ARG(r->text));
	for (size_t i = 0; i < r->n; i++) {
		buffer_printf(out, " %" PRIx64, r->numbers[i]);
	}
	buffer_u8(out, '\n');
	return true;
}

static bool write_events(void *user, const struct heaptrack_event *events, size_t n,
		struct err *err) {
	assert_true(n > 0);
	for (size_t i = 0; i < n; i++) {
		struct heaptrack_record r = {.kind = events[i].is_free ? '-' : '+',
				.numbers = &events[i].number,
				.n = 1};
		(void)write_down(user, &r, err);
	}
	return true;
}

/** What is read of a text that comes `portion` bytes at a time, and what the reader counted. */
static struct buffer read_in(struct slice text, size_t portion, bool in_batches) {
	struct heaptrack_reader r = {.events = in_batches ? write_events : NULL};
	struct buffer out = {0};
	for (size_t at = 0; at < text.size; at += portion) {
		size_t n = text.size - at < portion ? text.size - at : portion;
		assert_true(heaptrack_read(&r, slice_of(text.data + at, n), write_down, &out, NULL));
	}
	buffer_printf(&out, "%" PRIu64 " lines, %" PRIu64 " bad, cut: %d\n", r.n_lines, r.n_bad,
			r.rest.size > 0);
	heaptrack_reader_finish(&r);
	assert_false(out.failed);
	return out;
}

static void check_portions(struct slice text) {
	struct buffer wanted = read_in(text, 1, false);
	for (size_t portion = 2; portion <= text.size + 1; portion += 1 + portion / 16) {
		struct buffer got = read_in(text, portion, portion % 2);
		assert_true(slice_equal(buffer_view(&got), buffer_view(&wanted)));
		buffer_finish(&got);
	}
	buffer_finish(&wanted);
}

static void odd_lines_are_the_same_in_any_portions(void **state) {
	(void)state;
	static const char
			text[] = "v 10500 3\n+ 0\n- 0\n+ abcdef0123456789\n- ffffffffffffffff\n"
					 "+ 10000000000000000\n+\n+ \n- \n+  1\n+1\n+ 1 \n- 1 2\n+ 10 1 5000\n"
					 "+ A\n- 1g\n+ 1\r\n* 1\n-- 1\n\n# + 1\nc 5\nR 10\n+ 7\n- 7\n+ 12";
	check_portions(slice_of_text(text));
	struct buffer out = read_in(slice_of_text(text), sizeof text, true);
	static const char *const wanted[] = {"+ '' abcdef0123456789\n", "- '' ffffffffffffffff\n",
			"+ '' 10 1 5000\n", "+ bad ''\n", "- '' 7\n25 lines, ", ", cut: 1\n"};
	for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++) {
		assert_non_null(memmem(out.data, out.size, wanted[i], strlen(wanted[i])));
	}
	buffer_finish(&out);
}

static void any_lines_are_the_same_in_any_portions(void **state) {
	(void)state;
	static const char letters[] = "++++---- \n\n  0123456789abcdefXcs";
	srandom(1);
	for (int round = 0; round < 300; round++) {
		char text[200];
		for (size_t i = 0; i < sizeof text; i++) {
			bool is_start = i == 0 || text[i - 1] == '\n';
			bool is_second = i > 0 && !is_start && (i == 1 || text[i - 2] == '\n');
			size_t among = is_start ? 8 : sizeof letters - 1;
			text[i] = is_second && random() % 8 ? ' ' : letters[(size_t)random() % among];
		}
		check_portions(slice_of(text, sizeof text));
	}
}

/** Numbers of every length, with every byte at every place. */
static void any_byte_in_a_number(void **state) {
	(void)state;
	struct buffer text = {0};
	for (unsigned byte = 0; byte < 256; byte++) {
		for (size_t n = 1; n <= 17; n++) {
			char number[] = "9a0f5b3c81e2d4607";
			number[byte / 3 % n] = (char)byte;
			number[byte % 3 == 0 ? n - 1 : 0] = (char)byte;
			buffer_printf(&text, "%c ", byte % 2 ? '+' : '-');
			buffer_bytes(&text, number, n);
			buffer_u8(&text, '\n');
		}
	}
	struct buffer wanted = read_in(buffer_view(&text), 1, false);
	struct buffer got = read_in(buffer_view(&text), text.size, true);
	assert_true(slice_equal(buffer_view(&got), buffer_view(&wanted)));
	buffer_finish(&got);
	buffer_finish(&wanted);
	buffer_finish(&text);
}

/** More events than a batch holds. */
static void many_events(void **state) {
	(void)state;
	struct buffer text = {0};
	for (unsigned i = 0; i < 5000; i++) {
		buffer_printf(&text, i % 700 == 0 ? "c %x\n" : i % 3 ? "+ %x\n" : "- %x\n", i * i);
	}
	struct buffer wanted = read_in(buffer_view(&text), 1, false);
	for (int in_batches = 0; in_batches < 2; in_batches++) {
		struct buffer got = read_in(buffer_view(&text), text.size, in_batches);
		assert_true(slice_equal(buffer_view(&got), buffer_view(&wanted)));
		buffer_finish(&got);
	}
	buffer_finish(&wanted);
	buffer_finish(&text);
}

static bool stop(void *user, const struct heaptrack_event *events, size_t n, struct err *err) {
	(void)user, (void)events, (void)n;
	return err_set(err, ERR_LIMIT, "enough");
}

static void a_batch_can_stop_it(void **state) {
	(void)state;
	struct heaptrack_reader r = {.events = stop};
	struct err err = {0};
	struct slice text = slice_of_text("+ 0\n+ 0\n- 0\n- 0\n+ 0123456789abcdef\nc 1\n");
	assert_false(heaptrack_read(&r, text, write_down, NULL, &err));
	assert_string_equal(err.text, "enough");
	heaptrack_reader_finish(&r);
}

int main(void) {
	const struct CMUnitTest tests[] = {
			cmocka_unit_test(odd_lines_are_the_same_in_any_portions),
			cmocka_unit_test(any_lines_are_the_same_in_any_portions),
			cmocka_unit_test(any_byte_in_a_number),
			cmocka_unit_test(many_events),
			cmocka_unit_test(a_batch_can_stop_it),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
