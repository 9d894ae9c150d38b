// SPDX-License-Identifier: MIT
#include "engine/findings.h"
#include "engine/memory.h"
#include "sample_recording.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

// The sample recording with looks of a few parts each, and edges that say what the heap held before.

enum { MB = 1000000, MS = 1000000, LOOKS = 3, PARTS = 12, EDGES = 10 };

static struct recording r;
static struct names *names;
static struct arena arena;
static struct rec_look looks[LOOKS];
static struct rec_part parts[PARTS];
static struct rec_edge edges[EDGES];
static struct rec_mapping mappings[2] = {{.node = N_PARSE}, {.node = N_START}};

/** A look without parts; it grows as they are added. */
static void look_at(uint64_t ms, uint8_t at) {
	looks[r.looks.n++] = (struct rec_look){.time_ns = ms * MS,
			.at = at,
			.has = REC_HAS_SIZES | REC_HAS_PAGES | REC_HAS_BLOCKS | REC_HAS_MAKERS};
}

static struct rec_part *part(uint8_t id, uint64_t mb) {
	struct rec_part *p = &parts[r.parts.n++];
	*p = (struct rec_part){.part = id, .resident_bytes = mb * MB, .look = r.looks.n - 1};
	p->asked_bytes = id == REC_PART_HEAP_LIVE ? p->resident_bytes : 0;
	looks[r.looks.n - 1].rss_bytes += p->resident_bytes;
	return p;
}

/** What the heap held at most in each tenth of a second. */
static void heap_was(const uint64_t mb[EDGES]) {
	for (uint64_t i = 0; i < EDGES; i++) {
		edges[i] = (struct rec_edge){.time_ns = (i * 100 + 50) * MS,
				.end_ns = (i + 1) * 100 * MS,
				.bytes = mb[i] * MB};
	}
	r.edges.items = edges, r.edges.n = EDGES;
}

static int set_up(void **state) {
	(void)state;
	r = sample_recording();
	r.looks.items = looks, r.looks.n = 0;
	r.groups.n = 0;
	r.parts.items = parts, r.parts.n = 0;
	r.mappings.items = mappings, r.mappings.n = 2;
	r.summary.peak_bytes = 90 * MB;
	names = names_create(&r, NULL);
	return names ? 0 : -1;
}

static int tear_down(void **state) {
	(void)state;
	names_destroy(names);
	arena_finish(&arena);
	return 0;
}

static const struct finding *find(const char *id) {
	struct findings all;
	all = findings_make(&r, names, &arena);
	for (uint32_t i = 0; i < all.n; i++) {
		if (strcmp(all.items[i].id, id) == 0) {
			return &all.items[i];
		}
	}
	return NULL;
}

static void says(const char *id, const char *sentence) {
	const struct finding *f = find(id);
	assert_non_null(f);
	assert_string_equal(f->text, sentence);
}

// ---- looks

static void shows_the_newest_of_the_largest_with_pages(void **state) {
	(void)state;
	assert_null(memory_at_peak(&r).look);
	look_at(100, REC_AT_RSS_PEAK);
	part(REC_PART_UNKNOWN, 50);
	looks[0].has = REC_HAS_SIZES;
	look_at(200, REC_AT_RSS_PEAK);
	part(REC_PART_HEAP_LIVE, 20)->asked_bytes = 25 * MB;
	part(REC_PART_STACKS, 3);
	part(REC_PART_STACKS, 4)->lazy_free_bytes = MB;
	look_at(300, REC_AT_END);
	part(REC_PART_HEAP_LIVE, 20);
	const struct memory_look m = memory_at_peak(&r), end = memory_at_end(&r);
	assert_int_equal(m.number, 1);
	assert_int_equal(m.n_rows, 3);
	assert_int_equal(m.bytes[REC_PART_HEAP_LIVE], 20 * MB);
	assert_int_equal(m.bytes[REC_PART_STACKS], 7 * MB);
	assert_int_equal(m.lazy_free[REC_PART_STACKS], MB);
	assert_int_equal(m.asked_bytes, 25 * MB);
	assert_int_equal(end.number, 2);
	looks[2].rss_bytes = looks[1].rss_bytes;
	assert_int_equal(memory_at_peak(&r).number, 2);
}

static void sums_up_by_who_mapped(void **state) {
	(void)state;
	look_at(100, REC_AT_END);
	part(REC_PART_MAPPED, 3)->mapping = 2;
	part(REC_PART_MAPPED, 2)->mapping = 1;
	part(REC_PART_MAPPED, 2)->mapping = 1;
	part(REC_PART_MAPPED, 5); // however many they are
	part(REC_PART_FILES, 9)->name = S_LIBX;
	const struct memory_look m = memory_at_end(&r);
	uint32_t n;
	const struct memory_row *rows = memory_rows(&m, REC_PART_MAPPED, &r, names, &arena, &n);
	assert_int_equal(n, 3);
	assert_int_equal(rows[0].bytes, 4 * MB);
	assert_true(slice_equal(rows[0].maker->function, slice_of_text("parse(char const*)")));
	assert_null(rows[0].via);
	assert_true(rows[1].maker->is_runtime);
	assert_true(slice_equal(rows[1].via->function, slice_of_text("__libc_start_main_impl")));
	assert_true(!rows[2].maker && rows[2].name.size == 0);
}

// ---- findings

/** 60 MB freed by half of the run, and still in memory at its end. */
static void freed_and_kept(const uint64_t heap_mb[EDGES]) {
	look_at(1000, REC_AT_END);
	part(REC_PART_HEAP_LIVE, 2);
	part(REC_PART_HEAP_FREE, 60);
	part(REC_PART_FILES, 4);
	part(REC_PART_OURS, 10);
	heap_was(heap_mb);
}

static void says_what_malloc_keeps(void **state) {
	(void)state;
	freed_and_kept((const uint64_t[]){2, 30, 62, 62, 50, 3, 2, 2, 2, 2});
	says("kept-by-malloc",
			"malloc keeps 60.0 MB (79 % of RSS) at the end that are free; blocks held at most 2.0 MB "
			"from 600 ms on; malloc_trim(0) makes glibc give it back.");
	const struct finding *f = find("kept-by-malloc");
	assert_int_equal(f->severity, FINDING_WORTH_IT);
	assert_int_equal(finding_number(f, "bytes"), 60 * MB);
	assert_int_equal(finding_number(f, "rss_bytes"), 76 * MB);
	assert_int_equal(finding_number(f, "most_bytes"), 2 * MB);
	assert_int_equal(finding_number(f, "since_ns"), 600ull * MS);
	r.looks.n = 0; // another look saw the same before
	look_at(900, REC_AT_RSS_PEAK);
	looks[1] = looks[0], looks[1].at = REC_AT_END, looks[1].time_ns = 1000ull * MS;
	looks[0].rss_bytes = looks[1].rss_bytes = 76 * MB;
	r.looks.n = 2;
	const uint32_t n = r.parts.n;
	for (uint32_t i = 0; i < n; i++) {
		parts[r.parts.n] = parts[i];
		parts[r.parts.n++].look = 1;
	}
	assert_non_null(strstr(find("kept-by-malloc")->text, " of RSS) at the end that are free;"));
}

/** What is freed at the end of a run, or just before the look, may be needed again. */
static void accuses_nobody_who_just_freed(void **state) {
	(void)state;
	freed_and_kept((const uint64_t[]){2, 30, 62, 62, 62, 62, 62, 62, 62, 62});
	assert_null(find("kept-by-malloc"));
	looks[0].time_ns = 940ull * MS; // the period in which it was freed has not ended then
	edges[8].bytes = 2 * MB;
	assert_null(find("kept-by-malloc"));
}

static void needs_half_of_rss_to_say_that_malloc_keeps_it(void **state) {
	(void)state;
	static const uint64_t low[EDGES] = {2, 2, 2, 2, 2, 2, 2, 2, 2, 2};
	freed_and_kept(low);
	says("kept-by-malloc",
			"malloc keeps 60.0 MB (79 % of RSS) at the end that are free; blocks held at most 2.0 MB; "
			"malloc_trim(0) makes glibc give it back.");
	parts[2].resident_bytes += 60 * MB, looks[0].rss_bytes += 60 * MB;
	assert_null(find("kept-by-malloc"));
	parts[2].resident_bytes -= 60 * MB, looks[0].rss_bytes -= 60 * MB;
	parts[1].lazy_free_bytes = 50 * MB; // the kernel has it already
	assert_null(find("kept-by-malloc"));
	parts[1].lazy_free_bytes = 0, looks[0].has = REC_HAS_SIZES;
	assert_null(find("kept-by-malloc"));
}

/** Each allocator has its own; of one that is not known nothing is promised. */
static void names_the_remedy_of_the_allocator(void **state) {
	(void)state;
	static const struct {
		const char *path, *words;
	} all[] = {
			{"/usr/lib/libjemalloc.so.2",
					"; MALLOC_CONF=dirty_decay_ms:0,muzzy_decay_ms:0 makes jemalloc give it back."},
			{"/usr/lib/libtcmalloc_minimal.so.4",
					"; MallocExtension_ReleaseFreeMemory() makes tcmalloc give back what its caches do not hold."},
			{"/usr/lib/libmimalloc.so.2.0",
					"; MIMALLOC_RESET_DELAY=0 makes mimalloc give it back."}};
	static const uint64_t low[EDGES] = {2, 2, 2, 2, 2, 2, 2, 2, 2, 2};
	freed_and_kept(low);
	for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
		sample_strings[S_LIBX] = slice_of_text(all[i].path);
		assert_non_null(strstr(find("kept-by-malloc")->text, all[i].words));
	}
	static struct rec_allocator own = {.module = S_EXE, .functions = S_NEW, .n_functions = 1};
	r.allocators.items = &own, r.allocators.n = 1;
	assert_non_null(strstr(find("kept-by-malloc")->text, "blocks held at most 2.0 MB."));
}

static void names_who_mapped_most(void **state) {
	(void)state;
	look_at(1000, REC_AT_RSS_PEAK);
	part(REC_PART_HEAP_LIVE, 20);
	part(REC_PART_MAPPED, 30)->mapping = 1;
	part(REC_PART_MAPPED, 5)->mapping = 2;
	part(REC_PART_FILES, 10);
	says("mapped",
			"parse() app.cpp:33 has mapped 30.0 MB (46 % of RSS), which are in memory at 1.00 s.");
	assert_string_equal(find("mapped")->place, "app.cpp:33");
	assert_string_equal(find("mapped")->lens, "m=resident&focus=parse(char%20const%2A)");
	parts[1].mapping = 2, parts[2].mapping = 1;
	sample_strings[S_EXE] = slice_of_text("/usr/bin/python3.11");
	says("mapped",
			"libc.so.6 via __libc_start_main_impl has mapped 30.0 MB (46 % of RSS), which are in memory "
			"at 1.00 s; python3.11 maps small objects itself; heaptrack --python-objects records them (not under python -E or -I); to name "
			"the Python functions behind it, use Python 3.11 to 3.14.");
	parts[1].mapping = parts[2].mapping = 0;
	assert_null(find("mapped"));
	parts[1].mapping = 1, parts[3].resident_bytes = 70 * MB, looks[0].rss_bytes += 60 * MB;
	assert_null(find("mapped")); // less than half of what is outside of the heap
}

static void tells_what_else_is_in_memory(void **state) {
	(void)state;
	look_at(1000, REC_AT_END);
	part(REC_PART_HEAP_LIVE, 60);
	part(REC_PART_FILES, 19)->name = S_EXE; // code
	struct rec_part *p = part(REC_PART_SHARED, 21);
	p->mapping = 1;
	says("resident",
			"21.0 MB (21 % of RSS) at the end are shared memory that parse() app.cpp:33 has mapped.");
	assert_string_equal(find("resident")->lens, "m=mapped&focus=parse(char%20const%2A)");
	assert_int_equal(find("resident")->severity, FINDING_EXPLAINS);
	looks[0].at = REC_AT_DETACH;
	assert_non_null(strstr(find("resident")->text, "at the detach are shared"));
	p->mapping = 0;
	assert_null(find("resident")); // of many, and of nobody in particular
	p->name = S_LIBX;
	static const struct {
		uint8_t part;
		const char *path, *says;
	} all[] = {
			{REC_PART_SHARED, "/dev/shm/pool", "are shared memory pool."},
			{REC_PART_FILES, "/var/lib/table", "are pages of the file table."},
			{REC_PART_MODULES_WRITTEN, "/var/lib/table", "are written pages of table."},
			{REC_PART_MODULES_WRITTEN, "/lib/libx.so", "are variables of libx.so."},
			{REC_PART_MAPPED, "before the attach", "were mapped before the attach."},
			{REC_PART_MAPPED, "thread 7 (uct_mm), by system calls of its own",
					"were mapped by thread 7 (uct_mm), by system calls of its own."},
			{REC_PART_UNKNOWN, "", "were mapped by no call that was recorded."},
			{REC_PART_MODULES_WRITTEN, "/home/u/app", "are variables of app."},
			{REC_PART_FILES, "/home/u/app", NULL},
			{REC_PART_FILES, "/lib/libx.so.6", NULL},
			{REC_PART_MAPPED, "[anon:pool]", NULL},
			{REC_PART_UNKNOWN, "large mappings that old kernels do not list", NULL},
	};
	for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
		p->part = all[i].part;
		sample_strings[S_LIBX] = slice_of_text(all[i].path);
		const struct finding *found = find("resident");
		assert_true(!found == !all[i].says && (!found || strstr(found->text, all[i].says)));
	}
	p->part = REC_PART_UNKNOWN, p->name = 0;
	looks[0].has &= (uint8_t)~REC_HAS_MAKERS;
	assert_null(find("resident")); // of a file without mappings
	looks[0].has |= REC_HAS_MAKERS;
	r.summary.peak_bytes = 2 * MB;
	assert_int_equal(find("resident")->severity, FINDING_WORTH_IT);
	p->resident_bytes = 18 * MB;
	assert_null(find("resident")); // less than half of what is outside of the heap
}

static void tells_of_stacks_and_of_what_was_given_back(void **state) {
	(void)state;
	look_at(1000, REC_AT_END);
	part(REC_PART_STACKS, 9);
	part(REC_PART_HEAP_FREE, 40)->lazy_free_bytes = 30 * MB;
	part(REC_PART_FILES, 31);
	part(REC_PART_OURS, 20);
	says("thread-stacks", "stacks of threads hold 9.0 MB (9.0 % of RSS) at the end.");
	says("lazy-free",
			"30.0 MB (30 % of RSS) were given back (MADV_FREE) at the end: they count until the kernel "
			"needs memory, and then are gone.");
	parts[0].resident_bytes -= 2 * MB, parts[2].resident_bytes += 2 * MB;
	parts[1].lazy_free_bytes = 19 * MB;
	assert_null(find("thread-stacks"));
	assert_null(find("lazy-free"));
}

static void tells_what_was_asked_for_and_is_not_in_memory(void **state) {
	(void)state;
	static struct rec_untouched untouched[] =
			{{.asked_bytes = 16 * MB, .resident_bytes = 12 * MB, .stack = 0, .blocks = 3},
					{.asked_bytes = 2 * MB, .stack = 1, .blocks = 1}};
	r.untouched.items = untouched, r.untouched.n = 2;
	look_at(1000, REC_AT_RSS_PEAK);
	part(REC_PART_HEAP_LIVE, 24)->asked_bytes = 30 * MB;
	says("untouched",
			"make_row() app.cpp:12 <- spike(): 4.0 MB of 16.0 MB in 3 live blocks were not in memory at "
			"1.00 s, and are no part of RSS.");
	assert_string_equal(find("untouched")->lens, "m=untouched&focus=make_row(int)");
	untouched[0].resident_bytes = 14 * MB;
	assert_null(find("untouched"));
}

/** What a metric counts until a moment, in ms; 0: to the end. */
static bool memory_until(enum lens_metric metric, uint64_t ms, struct recording *as,
		struct err *err) {
	struct lens l = {.metric = metric, .has_range = ms > 0, .to = (int32_t)r.edges.n};
	r.meta.duration_ns = ms * MS; // of which the last edge is the end
	return memory_as_recording(&r, &l, &arena, as, err);
}

/** A look of the past has kept no blocks, so that it does not know what of them was in memory. */
static void asks_no_look_of_the_past_what_was_untouched(void **state) {
	(void)state;
	static struct rec_untouched untouched = {.asked_bytes = 16 * MB, .look = 1, .blocks = 3};
	struct recording as;
	struct err err;
	r.untouched.items = &untouched, r.untouched.n = 1;
	look_at(300, REC_AT_TIMER);
	part(REC_PART_HEAP_LIVE, 24);
	assert_false(memory_until(LENS_UNTOUCHED, 400, &as, &err));
	assert_int_equal(err.code, ERR_UNSUPPORTED);
	assert_true(memory_until(LENS_RESIDENT, 400, &as, &err));
	look_at(500, REC_AT_REQUEST);
	part(REC_PART_HEAP_LIVE, 25);
	look_at(700, REC_AT_TIMER);
	part(REC_PART_HEAP_LIVE, 26);
	assert_true(memory_until(LENS_UNTOUCHED, 800, &as, &err));
	assert_int_equal(as.summary.peak_time_ns, 500 * MS);
	assert_true(memory_until(LENS_RESIDENT, 800, &as, &err));
	assert_int_equal(as.summary.peak_time_ns, 700 * MS);
}

/** Silence of a look that did not know all blocks, or not which pages were swapped out, is no zero. */
static void takes_no_silence_for_nothing_untouched(void **state) {
	(void)state;
	struct recording as;
	struct err err;
	look_at(1000, REC_AT_END);
	assert_true(memory_until(LENS_UNTOUCHED, 0, &as, &err));
	part(REC_PART_HEAP_LIVE, 24); // all its blocks lived
	assert_false(memory_until(LENS_UNTOUCHED, 0, &as, &err));
	assert_int_equal(err.code, ERR_UNSUPPORTED);
	assert_false(memory_until(LENS_UNTOUCHED, 2000, &as, &err));
	parts[0].asked_bytes = 0;
	looks[0].has &= (uint8_t)~REC_HAS_BLOCKS;
	assert_false(memory_until(LENS_UNTOUCHED, 0, &as, &err));
	assert_true(memory_until(LENS_RESIDENT, 0, &as, &err));
}

/** 40 blocks on pages that are free otherwise; what was just freed is accused of nothing. */
static void tells_who_keeps_pages(void **state) {
	(void)state;
	static struct rec_untouched untouched[] = {{.asked_bytes = 2 * MB,
			.resident_bytes = 2 * MB,
			.pinned_bytes = 8 * MB,
			.stack = 0,
			.blocks = 40}};
	r.untouched.items = untouched, r.untouched.n = 1;
	look_at(1000, REC_AT_END);
	part(REC_PART_HEAP_LIVE, 3);
	part(REC_PART_HEAP_PARTLY_FREE, 9);
	part(REC_PART_FILES, 8);
	heap_was((const uint64_t[]){2, 30, 62, 62, 50, 3, 3, 3, 3, 3});
	says("pins",
			"make_row() app.cpp:12 <- spike(): 2.0 MB in 40 live blocks keep 8.0 MB (40 % of RSS) in "
			"memory that are free on the same pages at the end.");
	assert_null(find("untouched"));
	assert_int_equal(finding_number(find("pins"), "bytes"), 8 * MB);
	heap_was((const uint64_t[]){2, 30, 62, 62, 50, 3, 3, 3, 8, 3});
	assert_null(find("pins"));
	heap_was((const uint64_t[]){2, 30, 62, 62, 50, 3, 3, 3, 3, 3});
	untouched[0].pinned_bytes--;
	assert_null(find("pins"));
	untouched[0].pinned_bytes++;
	looks[0].changed_bytes = MB;
	assert_null(find("pins"));
}

/** Only what blocks never held, and the kernel has in huge pages. */
static void tells_of_huge_pages_and_of_swap(void **state) {
	(void)state;
	look_at(1000, REC_AT_END);
	part(REC_PART_HEAP_LIVE, 10);
	part(REC_PART_HEAP_PARTLY_FREE, 10);
	part(REC_PART_HEAP_FREE, 30);
	looks[0].huge_bytes = 48 * MB, looks[0].huge_free_bytes = 38 * MB;
	heap_was((const uint64_t[]){2, 4, 6, 8, 12, 10, 10, 10, 10, 10});
	says("huge-pages",
			"about 38.0 MB (76 % of RSS) of the heap are in memory at the end without ever having been "
			"used, because they are parts of huge pages; prctl(PR_SET_THP_DISABLE) makes pages small.");
	heap_was((const uint64_t[]){2, 4, 6, 38, 12, 10, 10, 10, 10, 10});
	assert_int_equal(finding_number(find("huge-pages"), "bytes"), 12 * MB);
	heap_was((const uint64_t[]){2, 4, 6, 48, 12, 10, 10, 10, 10, 10});
	assert_null(find("huge-pages"));
	assert_null(find("swap"));
	looks[0].swap_bytes = 9 * MB;
	says("swap", "beside RSS, 9.0 MB (18 % of RSS) are swapped out at the end.");
	looks[0].swap_bytes = 5 * MB;
	assert_null(find("swap"));
}

static void says_what_is_used_of_a_limit(void **state) {
	(void)state;
	static struct rec_group group = {.time_ns = 1000ull * MS,
			.limit_bytes = 100 * MB,
			.used_bytes = 99 * MB,
			.anonymous_bytes = 83 * MB,
			.own_bytes = 71 * MB,
			.file_bytes = 14 * MB,
			.shared_bytes = 5 * MB,
			.inactive_bytes = 2 * MB,
			.kernel_bytes = 999999};
	struct buffer text = {0};
	look_at(900, REC_AT_RSS_PEAK);
	look_at(1000, REC_AT_TRIGGER);
	part(REC_PART_HEAP_LIVE, 70);
	part(REC_PART_FILES, 2);
	r.groups.items = &group, r.groups.n = 1;
	assert_null(memory_look(&r, 0).group);
	assert_ptr_equal(memory_look(&r, 1).group, &group);
	memory_put_group(&text, &group);
	assert_true(slice_equal(buffer_view(&text),
			slice_of_text("99.0 MB of 100.0 MB, of that 12.0 MB other processes, 9.0 MB page cache "
						  "(2.0 MB can be taken back), 5.0 MB shared memory")));
	buffer_clear(&text);
	group.anonymous_bytes = 60 * MB, group.inactive_bytes = 0, group.file_bytes = 5 * MB;
	group.kernel_bytes = MB;
	memory_put_group(&text, &group);
	assert_true(slice_equal(buffer_view(&text),
			slice_of_text("99.0 MB of 100.0 MB, of that 5.0 MB shared memory, 1.0 MB the kernel")));
	buffer_finish(&text);
}

/** On a busy machine the last look is later than what the program was last seen to do. */
static void a_look_is_no_later_than_the_kill(void **state) {
	(void)state;
	r.meta.ended = REC_SIGNALED, r.meta.exit_status = 9, r.meta.end_reason = REC_END_MEMORY;
	r.meta.duration_ns = 1000 * MS;
	look_at(980, REC_AT_RSS_PEAK);
	part(REC_PART_FILES, 7);
	struct quality_line lines[QUALITY_LINES_MAX];
	for (int late = 0; late < 2; late++) {
		looks[0].time_ns += (uint64_t)late * 100 * MS;
		size_t n = quality_lines(&r, names, &arena, lines), i = 0;
		while (i < n && strcmp(lines[i].id, "killed") != 0) {
			i++;
		}
		assert_true(i < n);
		const char *says = late ? "; 0.0 ms before, RSS was 7.0 MB"
								: "; 20 ms before, RSS was 7.0 MB";
		assert_non_null(strstr(lines[i].text, says));
	}
}

#define TEST(t) cmocka_unit_test_setup_teardown(t, set_up, tear_down)

int main(void) {
	const struct CMUnitTest tests[] = {
			TEST(shows_the_newest_of_the_largest_with_pages),
			TEST(sums_up_by_who_mapped),
			TEST(says_what_malloc_keeps),
			TEST(accuses_nobody_who_just_freed),
			TEST(needs_half_of_rss_to_say_that_malloc_keeps_it),
			TEST(names_the_remedy_of_the_allocator),
			TEST(names_who_mapped_most),
			TEST(a_look_is_no_later_than_the_kill),
			TEST(tells_what_else_is_in_memory),
			TEST(tells_of_stacks_and_of_what_was_given_back),
			TEST(tells_what_was_asked_for_and_is_not_in_memory),
			TEST(asks_no_look_of_the_past_what_was_untouched),
			TEST(takes_no_silence_for_nothing_untouched),
			TEST(tells_who_keeps_pages),
			TEST(tells_of_huge_pages_and_of_swap),
			TEST(says_what_is_used_of_a_limit),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
