// SPDX-License-Identifier: MIT
#include "engine/breakdown.h"
#include "engine/findings.h"
#include "sample_recording.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

struct fixture {
	struct recording r;
	struct names *names;
	struct arena arena;
};
static struct fixture f;

static int set_up(void **state) {
	(void)state;
	f.r = sample_recording();
	f.names = names_create(&f.r, NULL);
	return f.names ? 0 : -1;
}

static int tear_down(void **state) {
	(void)state;
	names_destroy(f.names);
	arena_finish(&f.arena);
	return 0;
}

static void assert_function(const struct name *name, const char *expected) {
	assert_non_null(name);
	char *text = arena_text(&f.arena, name->function);
	assert_string_equal(text, expected);
}

static void walks_inlined_frames_from_inside_out(void **state) {
	(void)state;
	static const char *const expected[] = {"operator new(unsigned long)",
			"std::vector<double, std::allocator<double> >::reserve(unsigned long)", "make_row(int)",
			"spike(int)", "main", "__libc_start_main_impl"};
	struct stack_walk w = stack_walk_init(&f.r, f.names, N_NEW);
	for (size_t i = 0; i < 6; i++) {
		const struct name *name = stack_walk_next(&w);
		assert_function(name, expected[i]);
		assert_int_equal(name->is_inlined, i == 2);
	}
	assert_null(stack_walk_next(&w));
}

static void names_stacks_after_the_users_own_code(void **state) {
	(void)state;
	assert_function(names_site(f.names, N_NEW), "make_row(int)");
	assert_function(names_site(f.names, N_PARSE_NEW), "parse(char const*)");
	// A frame without a name never stands where a named one would do
	assert_function(names_site(f.names, N_PARSE_X), "parse(char const*)");
	// Start-up code says nothing: the module does
	assert_function(names_site(f.names, N_START), "libc.so.6");
	assert_null(names_site(f.names, N_ROOT));
}

static void tells_whose_code_it_is(void **state) {
	(void)state;
	static const enum owner expected[N_LOCATIONS] = {[L_NEW] = OWNER_LIBRARY,
			[L_VECTOR] = OWNER_LIBRARY,
			[L_SPIKE] = OWNER_YOURS,
			[L_PARSE] = OWNER_YOURS,
			[L_MAIN] = OWNER_YOURS,
			[L_START] = OWNER_LIBRARY,
			[L_X] = OWNER_YOURS};
	for (uint32_t l = 1; l < N_LOCATIONS; l++) {
		assert_int_equal(names_of(f.names, l).items->owner, expected[l]);
	}
}

/** A template of the standard library that a dependency without debug data holds names no site. */
static void knows_the_runtime_in_a_library(void **state) {
	(void)state;
	struct rec_location *l = &f.r.locations.items[L_X];
	const uint32_t first = f.r.locations.items[L_VECTOR].first_frame;
	struct rec_frame *vector = &f.r.frames.items[first];
	const struct slice path = f.r.strings.items[S_LIBX];
	const struct rec_location before = *l;
	f.r.strings.items[S_LIBX] = slice_of_text("/usr/lib/x86_64-linux-gnu/libx.so.1");
	l->first_frame = first;
	l->n_frames = 1;
	vector->file = S_NONE;
	struct names *n = names_create(&f.r, NULL);
	assert_non_null(n);
	assert_true(names_of(n, L_X).items->is_runtime);
	names_destroy(n);
	f.r.strings.items[S_LIBX] = path;
	vector->file = S_VECTOR_H;
	*l = before;
}

/** One function, compiled into a program and a library: its file says so, else it may be two. */
static void tells_functions_apart_by_file_or_module(void **state) {
	(void)state;
	struct rec_location *l = &f.r.locations.items[L_X];
	const uint32_t first = f.r.locations.items[L_VECTOR].first_frame;
	struct rec_frame *vector = &f.r.frames.items[first];
	const struct rec_location before = *l;
	assert_int_not_equal(l->module, f.r.locations.items[L_VECTOR].module);
	l->first_frame = first;
	l->n_frames = 1;
	static const uint32_t files[] = {S_VECTOR_H, S_NONE};
	for (uint32_t i = 0; i < 2; i++) {
		vector->file = files[i];
		struct names *n = names_create(&f.r, NULL);
		assert_non_null(n);
		bool is_one = names_of(n, L_X).items->function_id ==
				names_of(n, L_VECTOR).items->function_id;
		assert_int_equal(is_one, files[i] != S_NONE);
		names_destroy(n);
	}
	vector->file = S_VECTOR_H;
	*l = before;
}

static void ranks_sum_to_the_totals(void **state) {
	(void)state;
	const struct rec_summary *s = &f.r.summary;
	const uint64_t bytes[] = {s->peak_bytes, s->live_bytes, s->live_bytes, s->allocated_bytes,
			s->allocated_bytes, 400};
	const uint64_t blocks[] = {s->peak_blocks, s->live_blocks, s->live_blocks, s->allocations,
			s->allocations, s->temporary};
	for (enum lens_metric m = LENS_PEAK; m <= LENS_TEMPORARY; m++) {
		uint32_t n;
		struct breakdown sites;
		struct lens_costs total;
		struct rank *stacks = rank_stacks(&f.r, m, &n);
		assert_non_null(stacks);
		sites = rank_sites(&f.r, f.names, m, &f.arena, &total);
		struct lens_costs sum = {0};
		for (uint32_t i = 0; i < sites.n; i++) {
			sum.bytes += sites.parts[i].costs.bytes;
			sum.blocks += sites.parts[i].costs.blocks;
		}
		assert_int_equal(total.bytes, bytes[m]);
		assert_int_equal(total.blocks, blocks[m]);
		assert_int_equal(sum.bytes, bytes[m]);
		assert_int_equal(sum.blocks, blocks[m]);
		for (uint32_t i = 1; i < n; i++) {
			const struct rec_stack *all = f.r.stacks.items;
			struct lens_costs a = lens_stack_costs(m, &all[stacks[i - 1].index]);
			struct lens_costs b = lens_stack_costs(m, &all[stacks[i].index]);
			assert_true(lens_metric_weight(m, &a) >= lens_metric_weight(m, &b));
		}
		free(stacks);
	}
}

static const char *line_of(const char *id) {
	struct quality_line lines[QUALITY_LINES_MAX];
	size_t n = quality_lines(&f.r, f.names, &f.arena, lines);
	for (size_t i = 0; i < n; i++) {
		if (strcmp(lines[i].id, id) == 0) {
			return lines[i].text;
		}
	}
	return "";
}

static bool says(const char *id) {
	return *line_of(id) != '\0';
}

static void is_silent_when_all_is_well(void **state) {
	(void)state;
	struct quality_line lines[QUALITY_LINES_MAX];
	assert_int_equal(quality_lines(&f.r, f.names, &f.arena, lines), 0);
}

static void says_which_mappings_are_missing(void **state) {
	(void)state;
	struct quality_line lines[QUALITY_LINES_MAX];
	f.r.mapping_edges.n = 0;
	assert_int_equal(quality_lines(&f.r, f.names, &f.arena, lines), 1);
	assert_string_equal(lines[0].id, "no-mappings");
	f.r.mapping_edges.n = 1;
	f.r.meta.source = REC_ATTACHED;
	size_t n = quality_lines(&f.r, f.names, &f.arena, lines);
	assert_string_equal(lines[n - 1].id, "mapped-before");
}

static void says_what_touches_the_numbers(void **state) {
	(void)state;
	f.r.quality.lost_events = 7;
	f.r.quality.truncated_stacks = 2;
	struct rec_node nodes[N_NODES];
	struct rec_location locations[N_LOCATIONS];
	memcpy(nodes, sample_nodes, sizeof nodes);
	memcpy(locations, sample_locations, sizeof locations);
	nodes[N_PARSE].parent = N_ROOT; // as if nothing were known above it
	locations[L_PARSE].is_mark = 1;
	f.r.nodes.items = nodes, f.r.locations.items = locations;
	f.r.quality.children_forked = 3;
	f.r.meta.is_complete = 0;
	assert_true(says("lost-events"));
	assert_true(says("truncated-stacks"));
	assert_true(says("children"));
	assert_true(says("incomplete"));
}

static void counts_one_block_as_one(void **state) {
	(void)state;
	f.r.quality.lost_events = f.r.quality.abandoned_hooks = 1;
	assert_string_equal(line_of("lost-events"),
			"1 event (allocations or frees) could not be recorded, missing from the totals");
	assert_non_null(strstr(line_of("abandoned"), "1 event begun and never finished ("));
	f.r.meta.source = REC_ATTACHED;
	f.r.summary.old_blocks = f.r.summary.old_freed_blocks = 1;
	f.r.summary.old_bytes = f.r.summary.old_freed_bytes = 24;
	f.r.quality.unknown_frees = 1;
	assert_string_equal(line_of("before-attach"),
			"allocated before the attach: 1 block, 24 B; 1 of them, 24 B, was freed since. They count "
			"only in resident memory");
	assert_string_equal(line_of("unknown-frees"),
			"1 free was of another block from before the attach, of which nothing is known");
	f.r.summary.old_blocks = 2;
	f.r.summary.old_freed_blocks = f.r.quality.unknown_frees = 0;
	assert_non_null(
			strstr(line_of("before-attach"), "attach: 2 blocks, 24 B; none of them was freed"));
	f.r.summary.old_blocks = 0;
	f.r.quality.unknown_frees = 2;
	assert_string_equal(line_of("unknown-frees"),
			"2 frees were of blocks from before the attach, of which nothing is known");
}

/** What a shim asks before it becomes the program touches no number; what the program starts may. */
static void says_of_a_launchers_children_last(void **state) {
	(void)state;
	static struct rec_child children[] = {{.pid = 7, .name = S_MAIN, .peak_rss_bytes = 1900000}};
	struct buffer text = {0};
	f.r.quality.children_executed = 25;
	f.r.children.items = children, f.r.children.n = 1;
	f.r.summary.peak_rss_bytes = 20000000;
	f.r.meta.n_images = 2;
	assert_false(says("children"));
	assert_int_equal(quality_minor_children(&f.r, &text), 25);
	buffer_u8(&text, 0);
	assert_memory_equal(text.data, "25 child processes were not recorded; ", 38);
	buffer_clear(&text);
	children[0].why = REC_WHY_ENVIRONMENT; // it does not count those that it starts
	(void)quality_minor_children(&f.r, &text);
	assert_memory_equal(text.data, "at least 25 child processes were not recorded; ", 47);
	children[0].why = REC_WHY_NONE;
	f.r.meta.n_images = 1;
	assert_true(says("children"));
	assert_int_equal(quality_minor_children(&f.r, &text), 0);
	f.r.meta.n_images = 2;
	children[0].peak_rss_bytes = 2100000;
	assert_true(says("children"));
	assert_int_equal(quality_minor_children(&f.r, &text), 0);
	buffer_finish(&text);
}

/** What was lost after the end of a recording, nobody counted: "7 were lost" would be too little. */
static void counts_no_losses_after_the_end(void **state) {
	(void)state;
	f.r.quality.lost_events = 7;
	f.r.quality.recording_stopped_early = 1;
	f.r.meta.is_complete = 1;
	assert_true(says("stopped-early"));
	assert_false(says("lost-events"));
}

#define TEST(t) cmocka_unit_test_setup_teardown(t, set_up, tear_down)

int main(void) {
	const struct CMUnitTest tests[] = {
			TEST(walks_inlined_frames_from_inside_out),
			TEST(names_stacks_after_the_users_own_code),
			TEST(tells_whose_code_it_is),
			TEST(knows_the_runtime_in_a_library),
			TEST(tells_functions_apart_by_file_or_module),
			TEST(ranks_sum_to_the_totals),
			TEST(is_silent_when_all_is_well),
			TEST(says_which_mappings_are_missing),
			TEST(says_what_touches_the_numbers),
			TEST(counts_one_block_as_one),
			TEST(says_of_a_launchers_children_last),
			TEST(counts_no_losses_after_the_end),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
