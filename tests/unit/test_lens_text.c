// SPDX-License-Identifier: MIT

/* The textual form of a lens: what is read, what is refused, and that it comes back as it was. */

#include "engine/lens.h"
#include "random_recording.h"

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

static struct recording small(struct rec_edge *edges) {
	struct recording r = {
			.meta = {.duration_ns = 5000000000, .wall_start_ns = 0},
			.summary = {.peak_time_ns = 2000000000},
	};
	static const uint64_t bytes[] = {10, 5, 100, 80, 8, 30};
	for (uint32_t i = 0; i < 6; i++) {
		edges[i] = (struct rec_edge){.time_ns = 500000000ull * (i + (i == 2 ? 2 : 1)),
				.bytes = bytes[i]};
	}
	edges[2].time_ns = 1660000123;
	r.edges.items = edges;
	r.edges.n = 6;
	return r;
}

struct range {
	const char *text;
	int32_t from, to;
	const char *again; // as lens_text writes it
};

static void test_ranges_snap_outwards(void **state) {
	(void)state;
	struct rec_edge edges[6]; // 0.5 1 1.660000123 2 2.5 3
	struct recording r = small(edges);
	static const struct range ranges[] = {
			{"t=start-1", -1, 1, "t=start-1"},
			{"t=0-1", -1, 1, "t=start-1"},
			{"t=0.6-0.9", 0, 1, "t=0.5-1"},
			{"t=1.66-2", 1, 3, "t=1-2"},
			{"t=1.67-end", 2, 6, "t=1.7-end"},
			{"t=10%-20%", 0, 1, "t=0.5-1"},
			{"t=-4s--3s", 1, 3, "t=1-2"},
			{"t=2.1-2.2", 3, 4, "t=2-2.5"},
			{"t=3-3", 5, 6, "t=3-end"},
			{"t=2.5-2.5s", 4, 5, "t=2.5-3"},
			{"t=4-5", 5, 6, "t=3-end"},
			{"t=peak", 1, 4, "t=1-2.5"},
			{"t=1.2-1.660000123", 1, 2, "t=1-1.6"},
	};
	struct arena arena = {0};
	for (size_t i = 0; i < sizeof ranges / sizeof *ranges; i++) {
		struct lens l;
		struct err err = {0};
		if (!lens_parse(&l, slice_of_text(ranges[i].text), &r, &arena, &err)) {
			fail_msg("%s", err.text);
		}
		assert_int_equal(l.from, ranges[i].from);
		assert_int_equal(l.to, ranges[i].to);
		struct slice again = lens_text(&l, &r, &arena);
		assert_string_equal((const char *)again.data, ranges[i].again);
		struct lens l2;
		assert_true(lens_parse(&l2, again, &r, &arena, &err));
		assert_int_equal(l2.from, l.from);
		assert_int_equal(l2.to, l.to);
	}
	struct lens l;
	assert_true(lens_parse(&l, slice_of_text("t=start-end"), &r, &arena, NULL));
	assert_false(l.has_range);
	arena_finish(&arena);
}

static void test_wall_clock(void **state) {
	(void)state;
	struct rec_edge edges[6];
	struct recording r = small(edges);
	struct arena arena = {0};
	struct lens l;
	struct err err = {0};
	r.meta.wall_start_ns = (uint64_t)1700000000 * 1000000000 + 500000000; // 22:13:20.5
	assert_true(lens_parse(&l, slice_of_text("t=22:13:21-22:13:22.5"), &r, &arena, &err));
	assert_int_equal(l.from, 0);
	assert_int_equal(l.to, 3);
	r.meta.wall_offset_s = 2 * 3600; // east of Greenwich it is tomorrow
	assert_true(lens_parse(&l, slice_of_text("t=00:13:21-00:13:22.5"), &r, &arena, &err));
	assert_int_equal(l.from, 0);
	assert_int_equal(l.to, 3);
	arena_finish(&arena);
}

// What the C library would write out to gigabytes is refused; what people write is not
static void test_expressions_have_a_size(void **state) {
	(void)state;
	static const struct {
		const char *text;
		bool is_fine;
	} rows[] = {
			{"((a{1,100}){1,100}){1,100}", false},
			{"a{1001}", false},
			{"a{1000}", true},
			{"(a|b{2,}){500,501}", false},
			{"a{32}{32}", false},
			{"((((((((((((a+)+)+)+)+)+)+)+)+)+)+)+)+", false},
			{"[[:alpha:]{9999}_]+::~?[^]{9999}]*\\{9999}", true},
			{"^std::(__cxx11::)?(vector|map|unordered_(map|set))<.*>::[a-z_]+\\(", true},
			{"(a{,9999})", false},
			{"a{2", true}, // not ours to judge: the library says what it is
			{"a[", true},
			{"a\\", true},
	};
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		struct err err = {0};
		bool ok = lens_pattern_is_valid(slice_of_text(rows[i].text), &err);
		bool is_too_long = !ok && err.code == ERR_LIMIT;
		if (is_too_long == rows[i].is_fine) {
			fail_msg("%s: %s", rows[i].text, err.text);
		}
	}
	char deep[200] = "";
	memset(deep, '(', 50);
	memset(deep + 50, ')', 50);
	assert_false(lens_pattern_is_valid(slice_of_text(deep), NULL));
}

static void test_wrong_words_are_named(void **state) {
	(void)state;
	static const char *const wrong[][2] = {
			{"m=peek", "m=peek"},
			{"m=peak&t=5", "t=5"},
			{"t=2-1", "t=2-1"},
			{"t=1:2-3", "t=1:2-3"},
			{"q=", "q="},
			{"q=/(/", "q=/(/"},
			{"q=%4", "q=%4"},
			{"focus=", "focus="},
			{"fold=2", "fold=2"},
			{"group=x", "group=x"},
			{"what=1", "what=1"},
			{"peak", "peak"},
	};
	struct rec_edge edges[6];
	struct recording r = small(edges);
	struct arena arena = {0};
	for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
		struct lens l;
		struct err err = {0};
		assert_false(lens_parse(&l, slice_of_text(wrong[i][0]), &r, &arena, &err));
		assert_non_null(strstr(err.text, wrong[i][1]));
		assert_int_equal(err.code, ERR_USAGE);
	}
	r.summary.allocations = 1;
	struct lens l;
	struct err err = {0};
	assert_false(lens_parse(&l, slice_of_text("t=1-2"), &r, &arena, &err));
	assert_int_equal(err.code, ERR_UNSUPPORTED);
	arena_finish(&arena);
}

static void test_text_comes_back(void **state) {
	(void)state;
	static const char *const texts[] = {
			"",
			"m=kept",
			"m=temporary&t=start-1&q=parse&q=!/^std::.*alloc/&focus=a::b(int,%20char)&hide=x&hide=y",
			"q=%2Fusr/lib/",
			"q=%21not",
			"q=100%25%26more%3D",
			"fold=0&threads=main,pool%2C1&group=package",
	};
	struct rec_edge edges[6];
	struct recording r = small(edges);
	struct arena arena = {0};
	for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
		struct lens l;
		struct err err = {0};
		if (!lens_parse(&l, slice_of_text(texts[i]), &r, &arena, &err)) {
			fail_msg("%s", err.text);
		}
		struct slice first = lens_text(&l, &r, &arena);
		assert_true(lens_parse(&l, first, &r, &arena, &err));
		assert_true(slice_equal(lens_text(&l, &r, &arena), first));
		struct lens again;
		assert_true(lens_parse(&again, slice_of_text(texts[i]), &r, &arena, &err));
		assert_int_equal(again.n_texts, l.n_texts);
		for (uint32_t k = 0; k < l.n_texts; k++) {
			assert_true(slice_equal(again.texts[k].text, l.texts[k].text));
			assert_int_equal(again.texts[k].is_regex, l.texts[k].is_regex);
			assert_int_equal(again.texts[k].is_negated, l.texts[k].is_negated);
		}
	}
	arena_finish(&arena);
}

static void test_names_of_functions(void **state) {
	(void)state;
	static const struct {
		const char *function, *name;
		bool is;
	} cases[] = {
			{"spike(int)", "spike", true},
			{"spike(int)", "spike()", true},
			{"spike(int)", "spike(int)", true},
			{"spike(int)", "spike(long)", false},
			{"spike(int)", "spik", false},
			{"ns::spike<int>(int)", "ns::spike", true},
			{"ns::spike<int>(int)", "spike", false},
			{"main", "main()", true},
			{"main", "", false},
	};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		assert_int_equal(lens_is_named(slice_of_text(cases[i].function),
								 slice_of_text(cases[i].name)),
				cases[i].is);
	}
}

int main(void) {
	const struct CMUnitTest tests[] = {
			cmocka_unit_test(test_ranges_snap_outwards),
			cmocka_unit_test(test_wall_clock),
			cmocka_unit_test(test_expressions_have_a_size),
			cmocka_unit_test(test_wrong_words_are_named),
			cmocka_unit_test(test_text_comes_back),
			cmocka_unit_test(test_names_of_functions),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
