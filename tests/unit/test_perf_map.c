// SPDX-License-Identifier: MIT
#include "symbols/perf_map.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <cmocka.h>

// ---- lines

static struct slice name_in(const char *text, const struct perf_map_entry *e) {
	return slice_of(text + e->name_at, e->name_bytes);
}

/** The entry of one line that stands at `at`. False: it is none. */
static bool read_line(const char *line, size_t n, uint64_t at, struct perf_map_entry *out) {
	static char text[2 * PERF_MAP_NAME_MAX];
	struct perf_map m = {0};
	memcpy(text, line, n);
	text[n] = '\n';
	assert_int_equal(perf_map_feed(&m, slice_of(text, n + 1), at), n + 1);
	bool is_read = m.fresh.n == 1;
	*out = is_read ? m.fresh.items[0] : (struct perf_map_entry){0};
	perf_map_finish(&m);
	return is_read;
}

static void lines_are_read(void **state) {
	(void)state;
	static const char line[] = "7fc4a0024300 378 JS:~get size /srv/my app/a.js:2:23";
	struct perf_map_entry e;
	assert_true(read_line(line, strlen(line), 0, &e));
	assert_int_equal(e.start, 0x7fc4a0024300);
	assert_int_equal(e.end, 0x7fc4a0024300 + 0x378);
	assert_true(
			slice_equal(name_in(line, &e), slice_of_text("JS:~get size /srv/my app/a.js:2:23")));
	assert_true(read_line("0xABC 0X10 f", 12, 100, &e));
	assert_int_equal(e.start, 0xabc);
	assert_int_equal(e.end, 0xacc);
	assert_int_equal(e.name_at, 111);
}

static void nonsense_is_no_line(void **state) {
	(void)state;
	static const char *const bad[] = {"", " ", "1", "1 2", "1 2 ", "1 0 empty", "x 2 f", "1 x f",
			"10000000000000000 2 f", "ffffffffffffffff 2 f", "0x 1 f", "-1 2 f", " 1 2 f"};
	struct perf_map_entry e;
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
		assert_false(read_line(bad[i], strlen(bad[i]), 0, &e));
	}
}

static void long_names_are_cut(void **state) {
	(void)state;
	char line[PERF_MAP_NAME_MAX + 100] = "1 2 ";
	memset(line + 4, 'f', sizeof line - 4);
	struct perf_map_entry e;
	assert_true(read_line(line, sizeof line, 0, &e));
	assert_int_equal(e.name_bytes, PERF_MAP_NAME_MAX);
}

// ---- against a map of single addresses

enum { ADDRESSES = 400, LINES = 3000, TEXT_BYTES = LINES * 32 };

struct oracle {
	int line[ADDRESSES]; // that covers it; -1: none
	char names[LINES][16];
};

/** What covers an address is the last line whose code holds it, and no line that overlaps came since. */
static void oracle_add(struct oracle *o, int line, unsigned start, unsigned size) {
	for (unsigned a = start; a < start + size; a++) {
		int old = o->line[a];
		for (unsigned i = 0; old >= 0 && i < ADDRESSES; i++) {
			o->line[i] = o->line[i] == old ? -1 : o->line[i];
		}
	}
	for (unsigned a = start; a < start + size; a++) {
		o->line[a] = line;
	}
}

static size_t make_text(char *text, struct oracle *o) {
	size_t n = 0;
	memset(o->line, -1, sizeof o->line);
	for (int i = 0; i < LINES; i++) {
		unsigned size = 1 + (unsigned)rand() % 12, start = (unsigned)rand() % (ADDRESSES - 12);
		(void)snprintf(o->names[i], sizeof o->names[i], "f%d", i);
		n += (size_t)sprintf(text + n, "%x %x %s\n", start, size, o->names[i]);
		oracle_add(o, i, start, size);
	}
	return n;
}

static void check_map(const struct perf_map *m, const struct oracle *o, const char *text) {
	for (unsigned a = 0; a < ADDRESSES; a++) {
		const struct perf_map_entry *e = perf_map_find(&m->current, a);
		assert_int_equal(e != NULL, o->line[a] >= 0);
		if (e) {
			assert_true(slice_equal(name_in(text, e), slice_of_text(o->names[o->line[a]])));
		}
	}
	for (size_t i = 1; i < m->current.n; i++) {
		assert_true(m->current.items[i - 1].end <= m->current.items[i].start);
	}
}

/** Fed line by line the result is exactly the oracle's. */
static void later_code_takes_the_place(void **state) {
	(void)state;
	static char text[TEXT_BYTES];
	static struct oracle o;
	size_t n = make_text(text, &o);
	struct perf_map m = {0};
	for (size_t at = 0; at < n;) {
		size_t used = perf_map_feed(&m, slice_of(text + at, strcspn(text + at, "\n") + 1), at);
		assert_true(used > 0);
		at += used;
		perf_map_sort(&m);
		perf_map_merge(&m);
	}
	check_map(&m, &o, text);
	perf_map_finish(&m);
}

/**
 * In any pieces, as a map that is being written is read. Within a piece, what a line has overwritten
 * may still hide an older one beside it: nothing is ever given an older name than it should.
 */
static void pieces_do_not_matter(void **state) {
	(void)state;
	static char text[TEXT_BYTES];
	static struct oracle o;
	size_t n = make_text(text, &o);
	struct perf_map m = {0};
	size_t at = 0, end = 0, n_found = 0, n_covered = 0;
	while (at < n) {
		end = end + 1 + (size_t)rand() % 200;
		end = end < n ? end : n;
		at += perf_map_feed(&m, slice_of(text + at, end - at), at);
		perf_map_sort(&m);
		perf_map_merge(&m);
	}
	assert_int_equal(m.n_lines, LINES);
	for (unsigned a = 0; a < ADDRESSES; a++) {
		const struct perf_map_entry *e = perf_map_find(&m.current, a);
		n_covered += o.line[a] >= 0;
		if (e && o.line[a] >= 0) {
			assert_true(slice_equal(name_in(text, e), slice_of_text(o.names[o.line[a]])));
			n_found++;
		}
	}
	assert_true(n_covered > 0 && n_found >= n_covered / 10 * 9);
	perf_map_finish(&m);
}

static void half_a_line_waits(void **state) {
	(void)state;
	struct perf_map m = {0};
	assert_int_equal(perf_map_feed(&m, slice_of_text("10 8 f\n20 8 g"), 0), 7);
	assert_int_equal(perf_map_feed(&m, slice_of_text("20 8 gg\n"), 7), 8);
	perf_map_sort(&m);
	perf_map_merge(&m);
	assert_int_equal(m.current.n, 2);
	assert_int_equal(perf_map_find(&m.current, 0x27)->name_bytes, 2);
	assert_null(perf_map_find(&m.current, 0x28));
	assert_null(perf_map_find(&m.current, 0xf));
	perf_map_finish(&m);
}

int main(void) {
	const struct CMUnitTest tests[] = {
			cmocka_unit_test(lines_are_read),
			cmocka_unit_test(nonsense_is_no_line),
			cmocka_unit_test(long_names_are_cut),
			cmocka_unit_test(later_code_takes_the_place),
			cmocka_unit_test(pieces_do_not_matter),
			cmocka_unit_test(half_a_line_waits),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
