// SPDX-License-Identifier: MIT
#include "base/visible.h"
#include "report/compare.h"
#include "report/report.h"
#include "sample_recording.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

static struct recording r;
static struct names *names;
static struct buffer out;

static int set_up(void **state) {
	(void)state;
	r = sample_recording();
	names = names_create(&r, NULL);
	return names ? 0 : -1;
}

static int tear_down(void **state) {
	(void)state;
	names_destroy(names);
	buffer_finish(&out);
	return 0;
}

static const char *text(void) {
	buffer_u8(&out, 0);
	return (const char *)out.data;
}

#define SIX_LINES                                       \
	"total runtime: 1.00s.\n"                           \
	"calls to allocation functions: 1553 (1553/s)\n"    \
	"temporary memory allocations: 50 (50/s)\n"         \
	"peak heap memory consumption: 16.04M\n"            \
	"peak RSS (including heaptrack overhead): 20.00M\n" \
	"total memory leaked: 101.10K\n"

static void prints_the_page(void **state) {
	(void)state;
	struct report_options o = {.file = "x.zst"};
	report_text(&out, &r, names, &o);
	// clang-format off
	assert_string_equal(text(),
			"app (--fast)   1.00 s   recording complete   file x.zst\n"
			"\n"
			"  peak heap      16.0 MB  at 500 ms            peak RSS      20.0 MB\n"
			"  never freed   101.1 kB  in 1,001 blocks      growing       nothing  between 500 ms and 1.00 s\n"
			"  allocations      1,553  (1,553/s)            short-lived        50  (3.2 %)\n"
			"\n"
			"FINDINGS\n"
			"  peak  make_row() app.cpp:12 <- spike() holds 16.0 MB (99 % of the peak); without it the largest\n"
			"    heap is 16.0 MB at 500 ms.\n"
			"  never freed  parse() app.cpp:33 <- main: 1,000 of 1,550 blocks, 101.0 kB, the last of it allocated\n"
			"    by 900 ms.\n"
			"  growing  from 500 ms to 1.00 s the heap as a whole did not grow; parse() app.cpp:33 grew most, by\n"
			"    101.0 kB.\n"
			"\n"
			"PEAK, by function                                                  bytes      % of bytes      blocks\n"
			"  make_row()    app.cpp:12              <- spike() <- main         16.0M              99           1\n"
			"  parse()       app.cpp:33              <- main                    40.4K              <1         400\n"
			"  (the runtime itself: libc.so.6)                                    100              <1           1\n"
			"\n"
			"NEVER FREED                                                        bytes      % of bytes      blocks\n"
			"  parse()       app.cpp:33              <- main                   101.0K              99       1,000\n"
			"  (the runtime itself: libc.so.6)                                    100              <1           1\n"
			"\n"
			"TEMPORARY: freed before their thread's next allocation             bytes  % of temporary   temporary\n"
			"  parse()       app.cpp:33              <- main                      400             100          50\n"
			"\n"
			"ALLOCATIONS                                                        bytes      % of calls       calls\n"
			"  parse()       app.cpp:33              <- main                   151.9K              99       1,550\n"
			"  make_row()    app.cpp:12              <- spike() <- main         32.0M              <1           2\n"
			"  (the runtime itself: libc.so.6)                                    100              <1           1\n"
			"\n"
			"more: heaptrack_print --full | --html OUT | --tree | --help\n"
			"\n"
			SIX_LINES);
	// clang-format on
}

/** What was freed from before an attach bounds a growth, of which there is none. */
static void knows_no_bound_of_nothing(void **state) {
	(void)state;
	r.meta.source = REC_ATTACHED;
	r.summary.old_blocks = r.summary.old_freed_blocks = 2;
	r.summary.old_bytes = r.summary.old_freed_bytes = 48;
	struct report_options o = {0};
	report_text(&out, &r, names, &o);
	assert_non_null(strstr(text(), "meanwhile 48 B from before"));
	assert_non_null(strstr(text(), "growing       nothing  between 500 ms and 1.00 s"));
}

static void prints_the_six_lines_as_kde_does(void **state) {
	(void)state;
	report_six_lines(&out, &r);
	assert_string_equal(text(), SIX_LINES);
}

static void says_that_it_saw_nothing(void **state) {
	(void)state;
	r.summary = (struct rec_summary){0};
	r.stacks.n = 0;
	struct report_options o = {0};
	report_text(&out, &r, names, &o);
	assert_non_null(strstr(text(), "The recorder saw no allocation."));
}

static void keeps_lines_within_the_width(void **state) {
	(void)state;
	for (uint32_t width = 60; width <= 160; width += 20) {
		buffer_clear(&out);
		struct report_options o = {.width = width};
		report_text(&out, &r, names, &o);
		for (const char *line = text(); *line; line = strchr(line, '\n') + 1) {
			size_t columns = 0;
			for (const char *c = line; *c != '\n'; c++) {
				columns += (*c & 0xc0) != 0x80;
			}
			if (strncmp(line, "  allocations", 13) != 0 && strncmp(line, "  peak heap", 11) != 0) {
				assert_true(columns <= width);
			}
		}
	}
}

/** What a number counts is on its line, at any width. */
static void keeps_units_with_their_numbers(void **state) {
	(void)state;
	static const char
			sentence[] = "held 548.4 kB, 12.0 MB/s (99 % of it) for 3.10 s; 4 h 02 min ago";
	for (uint32_t width = 20; width <= 60; width++) {
		buffer_clear(&out);
		visible_wrap(&out, "  ", 4, sentence, width);
		static const char *const whole[] = {"548.4 kB,", "12.0 MB/s", "(99 %", "3.10 s;", "4 h",
				"02 min"};
		for (size_t i = 0; i < sizeof whole / sizeof *whole; i++) {
			assert_non_null(strstr(text(), whole[i]));
		}
	}
}

/** What was found comes at the end of a recording, though much is to be said of its quality. */
static void sums_up_with_the_first_finding(void **state) {
	(void)state;
	struct report_options o = {.is_summary = true};
	report_text(&out, &r, names, &o);
	assert_non_null(strstr(text(),
			"  peak  make_row() app.cpp:12 <- spike() holds 16.0 MB (99 % of the peak).\n"));
	assert_null(strstr(text(), "  ! "));
	buffer_clear(&out);
	r.quality.lost_events = 3, r.quality.abandoned_hooks = 4, r.quality.double_allocations = 5;
	r.quality.looks_refused = 6, r.quality.time_corrections = 7;
	report_text(&out, &r, names, &o);
	size_t n = 0;
	for (const char *line = strstr(text(), "  ! "); line; line = strstr(line + 1, "\n  ! ")) {
		n++;
	}
	assert_int_equal(n, 3);
	assert_non_null(strstr(text(), " more in the full report\n"));
	assert_non_null(strstr(text(), "  peak  make_row() "));
	r.quality = (struct rec_quality){0};
}

static void prints_the_classic_sections(void **state) {
	(void)state;
	struct classic_options k = {.allocators = true,
			.peaks = true,
			.leaks = true,
			.temporary = true,
			.shorten_templates = true,
			.merge_backtraces = true,
			.peak_limit = 10,
			.sub_peak_limit = 5};
	struct report_options o = {.file = "x.zst"};
	report_classic(&out, &r, names, &o, &k);
	static const char *const lines[] = {
			"reading file \"x.zst\" - please wait, this might take some time...\n",
			"Debuggee command was: --fast\n",
			"MOST CALLS TO ALLOCATION FUNCTIONS\n"
			"1500 calls to allocation functions with 40.40K peak consumption from\n"
			"parse(char const*)\n  at /home/u/src/app.cpp:33\n  in /home/u/app\n"
			"1500 calls with 40.40K peak consumption from:\n"
			"    main\n      at /home/u/src/app.cpp:50\n      in /home/u/app\n",
			"PEAK MEMORY CONSUMERS\n16.00M peak memory consumed over 2 calls from\n"
			"std::vector<>::reserve(unsigned long)\n",
			"MEMORY LEAKS\n101.00K leaked over 1500 calls from\n",
			"MOST TEMPORARY ALLOCATIONS\n"
			"50 temporary allocations of 50 allocations in total (100.00%) from\n",
			"total memory leaked: 101.10K\n",
	};
	const char *at = text();
	for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
		const char *found = strstr(at, lines[i]);
		if (!found) {
			print_message("%s", (const char *)out.data);
			fail_msg("missing, or in another order: %s", lines[i]);
		}
		at = found;
	}
}

static void prints_json_with_the_named_fields(void **state) {
	(void)state;
	struct report_options o = {0};
	assert_true(report_json(&out, &r, names, &o, NULL));
	static const char *const parts[] = {
			"{\"version\":1,\"schema\":11,\"program\":{\"command\":[\"--fast\"]",
			"\"exit_status\":0", "\"summary\":{\"duration_ns\":1000000000,\"allocations\":1553,",
			"\"never_freed_blocks\":1001,\"never_freed_bytes\":101100,", "\"findings\":[{\"id\":\"",
			"\"sites\":{\"peak\":[{\"bytes\":16000000,\"blocks\":1,\"allocations\":2,\"temporary\":0,"
			"\"stack\":[{\"function\":\"operator new(unsigned long)\"",
			"{\"function\":\"make_row(int)\",\"symbol\":null,\"file\":\"/home/u/src/app.cpp\","
			"\"line\":12,\"module\":\"/home/u/app\",\"address\":\"0x1200\",\"inlined\":true,"};
	const char *document = text();
	for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
		if (!strstr(document, parts[i])) {
			fail_msg("missing: %s", parts[i]);
		}
	}
}

static void holds(const char *part) {
	if (!strstr(text(), part)) {
		fail_msg("missing: %s\nin: %s", part, text());
	}
	out.size--;
}

static size_t lines_of_memory(void) {
	size_t n = 0;
	const char *line = strstr(text(), "MEMORY at");
	for (; line && *line != '\n'; line = strchr(line, '\n') + 1) {
		n++;
	}
	out.size--;
	return n;
}

// clang-format off
#define HEAP_PARTS \
	"MEMORY at 500 ms: RSS 19.0 MB, 95 % of its peak                                      bytes  % of RSS\n" \
	"  live blocks (of 16.0 MB asked for)                                                 14.0M      73.7\n" \
	"  rounded up by malloc                                                               10.0K      <0.1\n" \
	"  free between live blocks                                                           90.0K       0.5\n" \
	"  free, kept by malloc (1.0 kB given back, not taken yet)                           400.0K       2.1\n"
// clang-format on

static void says_where_memory_went(void **state) {
	(void)state;
	sample_add_looks(&r);
	struct report_options o = {.file = "x.zst"};
	report_text(&out, &r, names, &o);
	// clang-format off
	holds("    101.0 kB.\n\n"
			HEAP_PARTS
			"  mapped by parse() app.cpp:33                                                      900.0K       4.7\n"
			"  mapped by others (libc.so.6 via __libc_start_main_impl 200.0 kB)                  300.0K       1.6\n"
			"  stacks                                                                             80.0K       0.4\n"
			"  data of modules (libx.so 120.0 kB)                                                120.0K       0.6\n"
			"  code and files (app 2.0 MB, libc.so.6 500.0 kB)                                     2.5M      13.2\n"
			"  heaptrack itself                                                                  550.0K       2.9\n"
			"  owner not known                                                                    50.0K       0.3\n"
			"\nPEAK,");
	// clang-format on
	assert_int_equal(lines_of_memory(), 12);
}

/** The smallest parts share a row, and what could not be read takes one; what is unknown stays. */
static void says_it_in_twelve_lines(void **state) {
	(void)state;
	sample_add_looks(&r);
	r.parts.items[5].part = REC_PART_ALLOCATOR_TABLES;
	r.parts.items[6].part = REC_PART_SHARED;
	r.looks.items[0].swap_bytes = 7000000;
	struct report_options o = {0};
	report_text(&out, &r, names, &o);
	r.parts.items[5].part = r.parts.items[6].part = REC_PART_MAPPED;
	r.looks.items[0].swap_bytes = 0;
	assert_int_equal(lines_of_memory(), 12);
	holds("  smaller parts                                                                     180.0K "
		  "      0.9\n  7.0 MB more are swapped out\n");
	holds("  owner not known                                                                    50.0K");
}

static void says_nothing_of_memory_without_a_look(void **state) {
	(void)state;
	static struct rec_sample sample = {.time_ns = 1, .rss_bytes = 90000000};
	struct report_options o = {0};
	r.samples.items = &sample, r.samples.n = 1;
	report_text(&out, &r, names, &o);
	assert_int_equal(lines_of_memory(), 0);
	assert_null(strstr(text(), "resident"));
}

static void prints_all_looks(void **state) {
	(void)state;
	sample_add_looks(&r);
	struct report_options o = {0};
	struct lens lens = lens_whole();
	const struct view_request request = {.view = VIEW_MEMORY, .lens = &lens};
	assert_true(report_view(&out, &r, names, &o, &request, NULL));
	// clang-format off
	holds(HEAP_PARTS
			"  mapped                                                                              1.2M       6.3\n"
			"      parse() app.cpp:33                                                            900.0K       4.7\n"
			"      libc.so.6 via __libc_start_main_impl                                          200.0K       1.1\n"
			"      others                                                                        100.0K       0.5\n");
	holds("\n  arenas, and how full their pages are of live blocks:\n"
			"      main arena: 14.8 MB, 14.0 MB live; 409.6 kB in empty pages, 81.9 kB in pages up to half full\n"
			"  of live blocks not in memory:\n"
			"      2.0 MB of 16.0 MB in 1 block: make_row() app.cpp:12\n"
			"\nMEMORY at the end, 1.00 s: RSS 3.0 MB, 15 % of its peak ");
	// clang-format on
	buffer_clear(&out);
	assert_true(report_view_json(&out, &r, names, &o, &request, NULL));
	holds("\"looks\":[{\"look\":0,\"pid\":42,\"at\":\"rss-peak\",\"time_ns\":500000000,"
		  "\"rss_bytes\":19000000,");
	holds("\"arenas\":[{\"name\":\"arena at 0x7f12a4000000\",\"live_bytes\":0,"
		  "\"bytes_by_fullness\":[28672,0,0,0,0,0,0,0,0,0,0]}]");
	holds("{\"id\":\"heap_live\",\"bytes\":14000000,\"asked_bytes\":16040500,\"rows\":[");
	holds("{\"bytes\":900000,\"lazy_free_bytes\":0,\"name\":null,\"stack\":[{\"function\":\"parse(");
	lens.has_range = true, lens.from = LENS_START, lens.to = 0;
	buffer_clear(&out);
	assert_true(report_view(&out, &r, names, &o, &request, NULL));
	assert_null(strstr(text(), "at the end"));
}

static bool fails(const char *text, const struct lens *lens, const char *sentence) {
	const struct diff_input run = {.recording = &r, .names = names, .lens = lens};
	struct arena arena = {0};
	struct gate gate;
	struct gate_result *result;
	assert_true(gate_parse(&gate, text, NULL));
	assert_true(gates_check(&gate, 1, (struct gate_runs){&run, 1}, (struct gate_runs){0}, &arena,
			&result, NULL));
	assert_string_equal(result->sentence, sentence);
	bool is_failed = result->is_failed;
	arena_finish(&arena);
	return is_failed;
}

static void judges_looks(void **state) {
	(void)state;
	struct lens lens = lens_whole();
	const char *missing = "the file does not contain this figure";
	assert_true(fails("rss>1", &lens, missing));
	sample_add_looks(&r);
	assert_true(fails("rss>2M", &lens, "RSS is 3.0 MB"));
	assert_false(fails("heap-free>400k", &lens, "free, and kept by malloc: 400.0 kB"));
	assert_true(fails("heap-free>2%", &lens, "free, and kept by malloc: 400.0 kB, 2.1 % of RSS"));
	assert_true(fails("untouched>2M", &lens, "of live blocks not in memory: 2.0 MB"));
	assert_true(fails("unknown>49k", &lens, "in memory without a known owner: 50.0 kB"));
	lens.has_range = true, lens.from = 0, lens.to = 1; // from the edge at which the first one is
	assert_false(fails("unknown>0", &lens, "in memory without a known owner: 0 B"));
	lens.from = LENS_START, lens.to = 0;
	assert_true(fails("rss>2M", &lens, "RSS is 19.0 MB"));
	r.looks.items[0].has = REC_HAS_SIZES | REC_HAS_PAGES;
	assert_false(
			fails("unknown>1%", &lens, "in memory without a known owner: 50.0 kB, 0.3 % of RSS"));
	assert_true(fails("heap-free>1G", &lens, missing));
	assert_true(fails("untouched>1G", &lens, missing));
}

#define TEST(t) cmocka_unit_test_setup_teardown(t, set_up, tear_down)

int main(void) {
	const struct CMUnitTest tests[] = {
			TEST(prints_the_page),
			TEST(knows_no_bound_of_nothing),
			TEST(prints_the_six_lines_as_kde_does),
			TEST(says_that_it_saw_nothing),
			TEST(keeps_lines_within_the_width),
			TEST(keeps_units_with_their_numbers),
			TEST(sums_up_with_the_first_finding),
			TEST(prints_the_classic_sections),
			TEST(prints_json_with_the_named_fields),
			TEST(says_where_memory_went),
			TEST(says_it_in_twelve_lines),
			TEST(says_nothing_of_memory_without_a_look),
			TEST(prints_all_looks),
			TEST(judges_looks),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
