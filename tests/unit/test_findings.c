// SPDX-License-Identifier: MIT
#include "engine/findings.h"
#include "sample_recording.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

// The sample recording, with the intervals and edges that its stacks would have left: 100 edges over
// a second, spike() at the 50th, parse() leaking a thousand blocks evenly.

enum { EDGES = 100, AT_PEAK = 49, MS = 1000000 };

static struct recording r;
static struct rec_edge edges[EDGES];
static struct rec_interval_row intervals[EDGES * 2 + 2];
static struct names *names;
static struct arena arena;

static void add(uint32_t stack, uint16_t from, uint16_t until, uint32_t count, uint64_t size) {
	const struct rec_interval v = {.stack = stack,
			.from = from,
			.until = until,
			.count = count,
			.bytes = count * size};
	assert_true(recording_set_interval(&r, r.intervals.n++, &v));
}

static void fill_edges(void) {
	for (uint32_t i = 0; i < EDGES; i++) {
		edges[i] = (struct rec_edge){.time_ns = (i + 1) * 10 * MS - 5 * MS,
				.end_ns = (i + 1) * 10 * MS};
		for (uint32_t k = 0; k < r.intervals.n; k++) {
			const struct rec_interval v = recording_interval(&r, k);
			edges[i].bytes += v.from <= i && i < v.until ? v.bytes : 0;
		}
	}
	r.edges.items = edges, r.edges.n = EDGES;
	r.summary.peak_time_ns = edges[AT_PEAK].time_ns;
	r.summary.peak_bytes = edges[AT_PEAK].bytes;
}

static int set_up(void **state) {
	(void)state;
	r = sample_recording();
	r.intervals.items = intervals, r.intervals.n = 0;
	add(0, AT_PEAK, AT_PEAK + 10, 1, 16000000);
	add(3, 0, REC_NEVER, 1, 100);
	for (uint16_t i = 0; i < EDGES; i++) {
		add(1, i, REC_NEVER, 10, 101);
	}
	fill_edges();
	names = names_create(&r, NULL);
	return names ? 0 : -1;
}

static int tear_down(void **state) {
	(void)state;
	names_destroy(names);
	arena_finish(&arena);
	return 0;
}

static struct findings make(void) {
	struct findings out;
	out = findings_make(&r, names, &arena);
	return out;
}

/** As if one had been seen that could not be hooked. */
static struct findings make_without_an_allocator(void) {
	static struct rec_allocator missed = {.why = 1};
	r.allocators.items = &missed;
	r.allocators.n = 1;
	struct findings out = make();
	r.allocators.n = 0;
	return out;
}

static const struct finding *find(const struct findings *all, const char *id) {
	for (uint32_t i = 0; i < all->n; i++) {
		if (strcmp(all->items[i].id, id) == 0) {
			return &all->items[i];
		}
	}
	return NULL;
}

static void explains_the_peak(void **state) {
	(void)state;
	struct findings all = make();
	const struct finding *peak = find(&all, "peak");
	assert_non_null(peak);
	assert_ptr_equal(peak, &all.items[0]);
	assert_string_equal(peak->text,
			"make_row() app.cpp:12 <- spike() holds 16.0 MB (99 % of the peak); it lasted 100 ms, on "
			"top of 50.6 kB; without it the largest heap is 101.1 kB at 995 ms.");
	assert_string_equal(peak->lens, "m=peak&focus=make_row(int)");
	assert_string_equal(peak->place, "app.cpp:12");
	assert_int_equal(finding_number(peak, "bytes"), 16000000);
	assert_int_equal(finding_number(peak, "base_bytes"), 50 * 1010 + 100);
	assert_int_equal(finding_number(peak, "without_bytes"), 101100);
}

/** A site that holds all by itself does so though its smallest stacks are not walked. */
static void counts_the_last_bytes_of_a_site(void **state) {
	(void)state;
	struct rec_stack *s = r.stacks.items;
	const struct rec_stack before[] = {s[0], s[2]};
	s[0].peak_bytes = 16049960;
	s[2].node = s[0].node, s[2].peak_bytes = 60, s[2].peak_blocks = 1;
	r.summary.peak_bytes = 16049960 + 60 + 40500;
	struct findings all = make();
	s[0] = before[0], s[2] = before[1];
	assert_non_null(
			strstr(find(&all, "peak")->text, "make_row() app.cpp:12 <- spike() holds 16.1 MB"));
}

/** Memory that nothing ever touched is none; what was swapped out, or is not known, may have been. */
static void says_how_much_of_the_peak_was_in_memory(void **state) {
	(void)state;
	static struct rec_look look = {.swap_bytes = 1};
	uint64_t rss = r.summary.peak_rss_bytes;
	const char *with = "at 995 ms; of the 16.1 MB, at most 1.6 MB were in memory (the peak RSS).";
	r.summary.peak_rss_bytes = 1600000;
	struct findings far = make();
	r.looks.items = &look, r.looks.n = 1;
	struct findings swapped = make();
	r.looks.n = 0;
	r.summary.peak_rss_bytes = 15000000;
	struct findings near = make();
	r.summary.peak_rss_bytes = rss;
	assert_non_null(strstr(find(&far, "peak")->text, with));
	assert_int_equal(finding_number(find(&far, "peak"), "peak_rss_bytes"), 1600000);
	assert_null(strstr(find(&swapped, "peak")->text, "in memory"));
	assert_null(strstr(find(&near, "peak")->text, "in memory"));
}

/** The same in another time. */
static void take(uint64_t ms) {
	for (uint32_t i = 0; i < EDGES; i++) {
		edges[i].end_ns = ms * MS / EDGES * (i + 1);
		edges[i].time_ns = edges[i].end_ns - ms * MS / EDGES / 2;
	}
	r.meta.duration_ns = ms * MS;
	r.summary.peak_time_ns = edges[AT_PEAK].time_ns;
}

static void says_how_a_leak_grows(void **state) {
	(void)state;
	take(2000);
	struct findings all = make();
	const struct finding *leak = find(&all, "never-freed");
	assert_non_null(leak);
	assert_string_equal(leak->text,
			"parse() app.cpp:33 <- main: 1,000 of 1,550 blocks, 101.0 kB, grew at an even 50.5 kB/s "
			"to the end.");
	assert_int_equal(leak->severity, FINDING_LOOK_FIRST);
	assert_in_range(finding_number(leak, "rate_bytes_per_s"), 50450, 50550);
	assert_string_equal(leak->lens, "m=never-freed&focus=parse(char%20const%2A)");
	assert_int_equal(all.noise_bytes, 100); // the C library's own
}

/** Some thousand blocks are not felt, so they are not what is said first. */
static void puts_the_peak_before_little_churn(void **state) {
	(void)state;
	struct rec_stack *s = &r.stacks.items[2], before = *s;
	struct rec_summary all = r.summary;
	static const uint64_t blocks[] = {5000, 50000};
	for (size_t i = 0; i < 2; i++) {
		s->allocations = s->short_lived = blocks[i];
		r.summary.allocations = all.allocations + blocks[i];
		r.summary.short_lived = blocks[i];
		struct findings made = make();
		const struct finding *churn = find(&made, "churn");
		assert_non_null(churn);
		assert_int_equal(churn->severity, i == 0 ? FINDING_EXPLAINS : FINDING_WORTH_IT);
		assert_true(i == 0 ? churn->weight < 125000 : churn->weight > 900000);
	}
	*s = before;
	r.summary = all;
}

/** A server that waits when it is left has not stopped growing; a program that computes on has. */
static void tells_an_idle_end_from_a_level(void **state) {
	(void)state;
	r.meta.duration_ns = 1250ull * MS;
	struct findings waits = make();
	r.meta.duration_ns = 1500ull * MS;
	struct findings goes_on = make();
	r.meta.duration_ns = 1000ull * MS;
	assert_non_null(strstr(find(&waits, "never-freed")->text, " kB, grew evenly by "));
	assert_non_null(
			strstr(find(&goes_on, "never-freed")->text, " kB, nearly stopped growing after "));
}

/** What grew in less than a second has no rate, and is not extrapolated; who holds it comes first. */
static void gives_short_runs_no_rate(void **state) {
	(void)state;
	static struct rec_sample sample = {.time_ns = 11 * MS, .rss_bytes = 20000000};
	r.samples.items = &sample, r.samples.n = 1;
	r.meta.memory_limit_bytes = 30000000;
	struct rec_stack *s = r.stacks.items, before[] = {s[0], s[1]};
	s[0].peak_bytes = s[0].peak_blocks = 0;
	s[1].peak_bytes = s[1].live_bytes, s[1].peak_blocks = s[1].live_blocks;
	r.intervals.n = 0;
	for (uint16_t i = 0; i < EDGES; i++) {
		add(1, i, REC_NEVER, 10, 101);
	}
	fill_edges();
	take(11);
	r.summary.peak_bytes = edges[EDGES - 1].bytes,
	r.summary.peak_time_ns = edges[EDGES - 1].time_ns;
	struct findings all = make();
	s[0] = before[0], s[1] = before[1];
	const struct finding *leak = find(&all, "never-freed");
	assert_non_null(leak);
	assert_string_equal(leak->text,
			"parse() app.cpp:33 <- main: 1,000 of 1,550 blocks, 101.0 kB, grew evenly by 94.9 kB in "
			"10 ms.");
	assert_int_equal(finding_number(leak, "rate_bytes_per_s"), 0);
	assert_int_equal(finding_number(leak, "grown_bytes"), 94940);
	assert_int_equal(leak->severity, FINDING_EXPLAINS);
	assert_string_equal(all.items[0].id, "peak");
	for (uint32_t i = 0; i < all.n; i++) {
		assert_null(strstr(all.items[i].text, "/s"));
	}
}

/** As libstdc++ does in a program that hardly allocates: no function of the user's holds it. */
static void names_the_library_that_holds_the_peak_for_itself(void **state) {
	(void)state;
	struct rec_stack *s = r.stacks.items, before[] = {s[0], s[1], s[3]};
	s[0].peak_bytes = s[0].peak_blocks = 0;
	s[1].peak_bytes = 20200, s[1].peak_blocks = 200;
	s[3].peak_bytes = 72704;
	r.summary.peak_bytes = 72704 + 20200;
	r.intervals.n = 0;
	add(3, 0, REC_NEVER, 1, 72704);
	add(1, 0, REC_NEVER, 200, 101);
	fill_edges();
	struct findings first = make();
	s[3].last_ns = r.meta.duration_ns; // it is no start
	struct findings all = make();
	s[0] = before[0], s[1] = before[1], s[3] = before[2];
	const struct finding *peak = find(&first, "peak");
	assert_non_null(peak);
	assert_string_equal(peak->text,
			"parse() app.cpp:33 <- main holds 20.2 kB (22 % of the peak); without it the largest heap "
			"is 72.7 kB at 5.0 ms; libc.so.6 allocated 72.7 kB (78 % of the peak) for itself before "
			"the program allocated anything.");
	peak = find(&all, "peak");
	assert_non_null(peak);
	assert_string_equal(peak->text,
			"libc.so.6 holds 72.7 kB (78 % of the peak) for itself; without it the largest heap is "
			"20.2 kB at 5.0 ms.");
	assert_string_equal(peak->lens, "m=peak&fold=0");
}

static void says_when_a_container_is_full(void **state) {
	(void)state;
	take(2000);
	static struct rec_sample sample = {.time_ns = 1000 * MS, .rss_bytes = 20000000};
	r.samples.items = &sample, r.samples.n = 1;
	r.meta.memory_limit_bytes = 30000000;
	struct findings all = make();
	const struct finding *leak = find(&all, "never-freed");
	assert_non_null(strstr(leak->text,
			"; at this rate the limit of 30.0 MB of its container is "
			"reached in 3 min 18 s"));
}

/** Of several processes, RSS is a sum: no limit, no growth and no largest heap is held against it. */
static void takes_no_sum_for_the_memory_of_one(void **state) {
	(void)state;
	static struct rec_sample samples[64];
	static struct rec_process processes[3];
	static struct rec_command commands[2];
	const uint64_t rss_bytes = r.summary.peak_rss_bytes;
	for (uint32_t i = 0; i < 64; i++) {
		samples[i] = (struct rec_sample){.time_ns = i * 30 * MS,
				.rss_bytes = 6000000 + i * 300000ull,
				.pss_bytes = i * 50000};
	}
	take(2000);
	r.samples.items = samples, r.samples.n = 64;
	r.summary.peak_rss_bytes = 1600000;
	r.meta.memory_limit_bytes = 30000000;
	struct findings one = make();
	assert_non_null(find(&one, "outside-growing"));
	assert_non_null(strstr(find(&one, "peak")->text, "in memory"));
	assert_non_null(strstr(find(&one, "never-freed")->text, "the limit"));
	processes[1] = (struct rec_process){.command = 1,
			.pid = 7,
			.peak_rss_bytes = 100000000,
			.peak_bytes = 45000000};
	processes[2] = (struct rec_process){.command = 1, .pid = 8, .peak_rss_bytes = 60000000};
	r.processes.items = processes, r.processes.n = 3;
	r.commands.items = commands, r.commands.n = 2;
	for (uint32_t i = 0; i < r.stacks.n; i++) {
		r.stacks.items[i].command = 1;
	}
	struct findings tree = make();
	r.samples.n = 0;
	struct findings unread = make();
	r.summary.peak_rss_bytes = rss_bytes;
	for (uint32_t i = 0; i < r.stacks.n; i++) {
		r.stacks.items[i].command = 0;
	}
	assert_null(find(&tree, "outside-growing"));
	assert_null(strstr(find(&tree, "peak")->text, "in memory"));
	assert_null(strstr(find(&tree, "never-freed")->text, "the limit"));
	const struct finding *together = find(&tree, "processes-at-peak");
	assert_non_null(strstr(together->text,
			"; at 1.89 s, all together had 24.9 MB of RSS as top adds it up, 3.1 MB with shared pages "
			"divided among those that map them (PSS); "));
	assert_non_null(strstr(together->text,
			" (pid 8) had up to 60.0 MB in memory (RSS), at most 0 B of it in recorded blocks."));
	assert_int_equal(finding_number(together, "pss_bytes"), 63 * 50000);
	assert_null(strstr(find(&unread, "processes-at-peak")->text, "PSS"));
}

static void says_that_all_was_freed(void **state) {
	(void)state;
	for (uint32_t i = 0; i < r.intervals.n; i++) {
		if (intervals[i].stack == 1) {
			intervals[i].until = (uint16_t)(intervals[i].from + 1);
		}
	}
	struct rec_stack *leaky = &r.stacks.items[1];
	struct rec_stack before = *leaky;
	leaky->live_blocks = leaky->live_bytes = 0;
	r.summary.live_bytes = 100, r.summary.live_blocks = 1;
	fill_edges();
	struct findings all = make();
	struct findings unsure = make_without_an_allocator();
	*leaky = before;
	assert_null(find(&all, "never-freed"));
	assert_null(find(&unsure, "all-freed"));
	assert_string_equal(find(&all, "all-freed")->text,
			"nothing was left allocated except 100 B of the runtime itself, in 1 block.");
}

/** A table that stands, and as much that is thrown away and made anew in every period. */
static void tells_what_is_held_from_what_is_replaced(void **state) {
	(void)state;
	struct rec_stack *s = &r.stacks.items[0];
	struct rec_stack before = *s;
	r.intervals.n = 0;
	add(0, 0, EDGES - 1, 1, 16000000);
	fill_edges();
	s->live_bytes = s->live_blocks = 0;
	s->allocated_bytes = 16000000;
	struct findings held = make();
	const struct finding *once = find(&held, "at-start");
	assert_non_null(once);
	assert_non_null(strstr(once->text,
			"16.0 MB were allocated once, in the first 5.0 ms, and held to the end"));
	r.meta.source = REC_ATTACHED; // long after the program's start
	struct findings attached = make();
	r.meta.source = REC_LAUNCHED;
	assert_null(find(&attached, "at-start"));
	assert_non_null(strstr(find(&attached, "allocated-once")->text,
			"16.0 MB were allocated once, at 5.0 ms, and held to the end"));
	for (uint16_t i = 0; i + 1 < EDGES; i++) { // small ones that come and go beside it
		add(0, i, i + 1, 1, 160000);
	}
	fill_edges();
	s->allocated_bytes += (EDGES - 1) * 160000ull;
	struct findings beside = make();
	assert_null(find(&beside, "steady"));
	assert_non_null(find(&beside, "at-start"));
	r.intervals.n = 0;
	add(0, 0, EDGES - 1, 1, 15500000); // the rest comes later
	add(0, 50, EDGES - 1, 1, 500000);
	fill_edges();
	struct findings later = make();
	assert_non_null(strstr(find(&later, "at-start")->text,
			"97 % of 16.0 MB were allocated in the first 5.0 ms, and held to the end"));
	r.intervals.n = 0;
	for (uint16_t i = 0; i + 1 < EDGES; i++) {
		add(0, i, i + 1, 1, 16000000);
	}
	fill_edges();
	s->allocated_bytes = (EDGES - 1) * 16000000ull;
	struct findings replaced = make();
	assert_null(find(&replaced, "at-start"));
	assert_non_null(find(&replaced, "steady"));
	*s = before;
}

/** Nothing has a rate: then the most that any site held more near the end than halfway is said. */
static void says_what_grew_most_where_nothing_grows(void **state) {
	(void)state;
	struct rec_stack *held = &r.stacks.items[0], *leaky = &r.stacks.items[1];
	struct rec_stack before[] = {*held, *leaky};
	held->live_bytes = held->live_blocks = leaky->live_bytes = leaky->live_blocks = 0;
	r.intervals.n = 0;
	add(0, 0, EDGES - 1, 1, 16000000);
	add(1, 60, EDGES - 1, 5, 1000);
	fill_edges();
	struct findings some = make();
	r.intervals.n = 1;
	fill_edges();
	struct findings none = make();
	struct findings unsure = make_without_an_allocator();
	*held = before[0], *leaky = before[1];
	assert_string_equal(find(&some, "no-growth")->text,
			"from 495 ms to 945 ms the heap grew by 5.0 kB (< 0.1 % of the peak); parse() app.cpp:33 "
			"grew most, by 5.0 kB.");
	assert_int_equal(finding_number(find(&some, "no-growth"), "heap_grown_bytes"), 5000);
	assert_int_equal(finding_number(find(&some, "no-growth"), "grown_bytes"), 5000);
	assert_string_equal(find(&none, "no-growth")->text, "from 495 ms to 945 ms nothing grew.");
	assert_string_equal(find(&unsure, "no-growth")->text,
			"from 495 ms to 945 ms nothing that was recorded grew.");
}

/**
 * What came late grew most, beside what grew evenly all the time; less than that is left out. Where
 * ended processes of a tree left blocks, which are never freed, nothing is said of the end.
 */
static void says_what_grew_most_beside_what_grows_evenly(void **state) {
	(void)state;
	struct findings with[3];
	struct rec_stack *late = &r.stacks.items[0], before = *late;
	for (int i = 0; i < 3; i++) {
		r.intervals.n = 0;
		late->live_bytes = late->left_bytes = i == 2 ? 9000000 : 0;
		for (uint16_t at = 0; at < EDGES; at++) {
			add(1, at, REC_NEVER, 10, 101);
		}
		add(0, 60, EDGES - 1, 1, i == 0 ? 90000 : 2000000);
		fill_edges();
		r.summary.peak_bytes = edges[EDGES - 2].bytes;
		with[i] = make();
		if (i < 2) {
			assert_in_range(finding_number(find(&with[i], "never-freed"), "grown_bytes"), 90001,
					99999);
		}
	}
	assert_null(find(&with[0], "no-growth"));
	assert_string_equal(find(&with[1], "no-growth")->text,
			"from 495 ms to 945 ms the heap grew by 2.0 MB (97 % of the peak); make_row() app.cpp:12 "
			"grew most, by 2.0 MB, and held nothing at the end.");
	assert_string_equal(find(&with[2], "no-growth")->text,
			"from 495 ms to 945 ms the heap grew by 2.0 MB (97 % of the peak); make_row() app.cpp:12 "
			"grew most, by 2.0 MB.");
	*late = before;
}

/** As many as edges met, if no more was allocated than these took; else there may be others. */
static void has_found_all(const struct findings *all, bool is_so) {
	const char *text = find(all, "bursts")->text;
	assert_true((strstr(text, " in 5 bursts above") != NULL) == is_so);
	assert_true((strstr(text, " in at least 5 bursts above") != NULL) == !is_so);
	assert_true((strstr(text, ", one every ") != NULL) == is_so);
}

/** A burst that is met near the end is told as one of several, and is no growth. */
static void says_of_no_burst_that_it_grew(void **state) {
	(void)state;
	r.intervals.n = 0;
	for (uint16_t at = 0; at < EDGES; at++) {
		add(1, at, REC_NEVER, 10, 101);
	}
	for (uint16_t at = 12; at < 90; at += 20) {
		add(0, at, at + 4, 1, 2000000);
	}
	add(0, 92, 96, 1, 2200000);
	fill_edges();
	r.summary.peak_bytes = edges[94].bytes;
	struct rec_stack *s = &r.stacks.items[0], before = *s;
	s->live_bytes = s->live_blocks = 0, s->allocated_bytes = 10200000;
	struct findings all = make();
	s->allocated_bytes += 1000000;
	struct findings some = make();
	*s = before;
	has_found_all(&all, true);
	has_found_all(&some, false);
	assert_null(find(&all, "no-growth"));
}

/** A program that has done its work and waits: its last edge is compared with its end. */
static void compares_with_the_end_what_is_idle_since(void **state) {
	(void)state;
	r.edges.n = 20;
	r.intervals.n = 0;
	add(0, 0, REC_NEVER, 1, 1000000);
	add(1, 10, REC_NEVER, 10, 5050);
	add(3, 0, REC_NEVER, 1, 100); // the C library's own
	struct rec_stack *held = &r.stacks.items[0], *leaky = &r.stacks.items[1];
	struct rec_stack before[] = {*held, *leaky};
	held->live_bytes = 1000000, held->live_blocks = 1;
	leaky->live_bytes = 50500, leaky->live_blocks = 10;
	for (uint32_t i = 0; i < r.edges.n; i++) {
		edges[i].bytes = 1000100 + (i >= 10 ? 50500 : 0);
	}
	r.summary.live_bytes = r.summary.peak_bytes = 1050600;
	struct findings idle = make();
	r.summary.live_bytes += 300, leaky->live_bytes += 300;
	struct findings late = make();
	edges[19].bytes += 300; // something else went meanwhile
	struct findings little = make();
	*held = before[0], *leaky = before[1];
	assert_string_equal(find(&idle, "no-growth")->text, "from 195 ms to 1.00 s nothing grew.");
	assert_string_equal(find(&late, "no-growth")->text,
			"from 195 ms to 1.00 s the heap grew by 300 B (< 0.1 % of the peak); parse() app.cpp:33 "
			"grew most, by 300 B.");
	assert_string_equal(find(&little, "no-growth")->text,
			"from 195 ms to 1.00 s the heap did not grow, nor did any function by 0.1 % of the peak.");
	assert_null(find(&little, "no-growth")->function);
}

/** Work that is in progress near the end and was before is no growth. */
static void calls_no_growth_what_comes_and_goes(void **state) {
	(void)state;
	struct rec_stack *held = &r.stacks.items[0], *leaky = &r.stacks.items[1];
	struct rec_stack before[] = {*held, *leaky};
	held->live_bytes = held->live_blocks = leaky->live_bytes = leaky->live_blocks = 0;
	r.intervals.n = 0;
	add(0, 0, EDGES - 1, 1, 1000000);
	add(1, 22, 27, 5, 160000);
	add(1, 92, EDGES - 3, 5, 160000);
	fill_edges();
	struct findings there = make();
	r.meta.source = REC_ATTACHED;
	r.summary.old_freed_bytes = 900000;
	r.intervals.n = 1;
	add(1, 52, EDGES - 3, 5, 100000);
	fill_edges();
	struct findings attached = make();
	add(1, 10, 20, 5, 100000);
	fill_edges();
	struct findings again = make();
	r.meta.source = REC_LAUNCHED;
	r.summary.old_freed_bytes = 0;
	r.intervals.n = 0;
	add(0, 0, 80, 1, 1000000);
	add(1, 0, EDGES - 1, 1, 900000);
	fill_edges();
	struct findings falls = make();
	*held = before[0], *leaky = before[1];
	assert_string_equal(find(&falls, "no-growth")->text,
			"from 495 ms to 945 ms nothing grew; the heap fell by 1.0 MB.");
	assert_string_equal(find(&there, "no-growth")->text, "from 495 ms to 915 ms nothing grew.");
	assert_string_equal(find(&attached, "no-growth")->text,
			"from 495 ms to 945 ms the heap grew by at most 500.0 kB (50 % of the peak); parse() "
			"app.cpp:33 grew most, by 500.0 kB, and held nothing at the end; meanwhile 900.0 kB from "
			"before the attach were freed.");
	assert_non_null(strstr(find(&again, "no-growth")->text,
			" grew most, by 500.0 kB, to what it held before, and held nothing at the end; "
			"meanwhile "));
}

/** What rises and falls all the time did not grow, wherever the moments that are compared meet it. */
static void calls_no_growth_what_rises_and_falls(void **state) {
	(void)state;
	struct rec_stack *held = &r.stacks.items[0], *leaky = &r.stacks.items[1];
	struct rec_stack before[] = {*held, *leaky};
	held->live_bytes = held->live_blocks = leaky->live_bytes = leaky->live_blocks = 0;
	struct findings of[3];
	const uint16_t periods[] = {35, 54, 54};
	const uint64_t peaks[] = {1700100, 1700100, 300000000};
	for (int i = 0; i < 3; i++) {
		r.intervals.n = 0;
		add(3, 0, REC_NEVER, 1, 100);
		for (uint16_t at = 0; at < EDGES; at++) {
			const int period = periods[i], step = at % period, end = at + period - 2 * step;
			if (step < period / 2) {
				add(0, at, (uint16_t)(end < EDGES ? end : EDGES - 1), 1, 100000);
			}
		}
		fill_edges();
		r.summary.peak_bytes = peaks[i];
		of[i] = make();
	}
	*held = before[0], *leaky = before[1];
	assert_string_equal(find(&of[0], "no-growth")->text, "from 355 ms to 705 ms nothing grew.");
	assert_string_equal(find(&of[1], "no-growth")->text,
			"from 495 ms to 605 ms the heap rose to no more than it held before; make_row() app.cpp:12 "
			"grew most, by 200.0 kB, to what it held before, and held nothing at the end.");
	assert_int_equal(finding_number(find(&of[1], "no-growth"), "heap_grown_bytes"), 0);
	assert_string_equal(find(&of[2], "no-growth")->text, // by less than a thousandth of it
			"from 495 ms to 605 ms the heap rose to no more than it held before.");
}

/** What nearly all came of at the start is no rate of what went on after it, on other stacks. */
static void tells_a_start_from_work(void **state) {
	(void)state;
	take(4000);
	struct rec_stack *s = r.stacks.items, before[] = {s[1], s[2]};
	s[1].first_ns = s[2].first_ns = 100 * MS;
	s[1].last_ns = 3900ull * MS, s[2].last_ns = 400 * MS;
	s[2].allocations = s[2].short_lived = r.summary.short_lived = r.summary.allocations = 99000;
	struct findings start = make();
	s[2].last_ns = 3900ull * MS;
	struct findings work = make();
	s[1] = before[0], s[2] = before[1];
	assert_non_null(strstr(find(&start, "churn")->text,
			": 99,000 in all, nearly all of them within 300 ms"));
	assert_int_equal(finding_number(find(&start, "churn"), "within_ns"), 300 * MS);
	assert_non_null(strstr(find(&work, "churn")->text, ": 99,000 in all, 24,750/s"));
}

/** Short-lived small blocks among a few large ones that stay: no mean says how large. */
static void says_no_mean_size_of_short_lived_blocks(void **state) {
	(void)state;
	struct rec_stack *s = &r.stacks.items[2], before = *s;
	s->allocations = 100000, s->allocated_bytes = 99000 * 8 + 1000 * 3000;
	s->short_lived = r.summary.short_lived = 99000;
	struct findings all = make();
	*s = before;
	const struct finding *churn = find(&all, "churn");
	assert_non_null(churn);
	assert_non_null(strstr(churn->text,
			" of the short-lived blocks (freed within 1 ms or 16 "
			"allocations): 99,000 in all, "));
	assert_null(strstr(churn->text, " bytes"));
	assert_int_equal(finding_number(churn, "mean_size"), 0);
}

/** Of blocks whose stack also makes others, which live long, the sizes are not known. */
static void says_always_only_where_all_sizes_are_known(void **state) {
	(void)state;
	struct rec_stack *s = &r.stacks.items[2], *mixed = &r.stacks.items[1];
	struct rec_stack before = *s, mixed_before = *mixed;
	struct rec_size one = {.stack = 2, .size = 32, .count = 100000};
	typeof(r.sizes) sizes_before = r.sizes;
	r.sizes.items = &one, r.sizes.n = 1;
	mixed->node = s->node;
	s->allocations = s->short_lived = 100000;
	mixed->allocations = 5000;
	static const char *const said[] = {", always 32 bytes", ", usually 32 bytes",
			", usually 1 byte."};
	for (int i = 0; i < 3; i++) {
		mixed->short_lived = i == 0 ? 0 : 2000;
		one.size = i < 2 ? 32 : 1;
		r.summary.short_lived = s->short_lived + mixed->short_lived;
		struct findings all = make();
		const struct finding *churn = find(&all, "churn");
		assert_non_null(churn);
		assert_non_null(strstr(churn->text, said[i]));
	}
	*s = before, *mixed = mixed_before, r.sizes = sizes_before;
}

static void is_silent_about_nothing(void **state) {
	(void)state;
	r.stacks.n = r.intervals.n = r.edges.n = 0;
	r.summary = (struct rec_summary){0};
	assert_int_equal(make().n, 0);
}

// ---- the same program as an interpreter, whose stacks are those of what it runs

static void become(const char *exe) {
	names_destroy(names);
	sample_strings[S_EXE] = slice_of_text(exe);
	names = names_create(&r, NULL);
	assert_non_null(names);
}

static const char *said(const char *id) {
	struct findings all = make();
	const struct finding *found = find(&all, id);
	return found ? found->text : "";
}

static void tells_which_of_a_runtimes_functions_asked(void **state) {
	(void)state;
	become("/opt/node/bin/node");
	struct findings all = make();
	assert_string_equal(find(&all, "runtime")->text,
			"node holds 16.0 MB (99 % of the peak) for what it runs, 16.0 MB of it asked for by "
			"make_row(); to name the JavaScript functions behind it, start it as node "
			"--perf-basic-prof --interpreted-frames-native-stack.");
	assert_int_equal(finding_number(find(&all, "runtime"), "bytes"), 16040500);
}

/** The stack goes through code without a name first: nobody knows who asked. */
static void takes_nobody_for_who_asked(void **state) {
	(void)state;
	struct rec_location *l = &sample_locations[L_SPIKE], before = *l;
	l->n_frames = 0;
	become("/usr/bin/perl");
	const char *text = said("runtime");
	*l = before;
	assert_string_equal(text,
			"perl holds 16.0 MB (99 % of the peak) for what it runs; its own functions: "
			"heaptrack_print --bottom-up --lens fold=0.");
}

/** What grows is named, with the module that holds it and its function; how to know more is said once. */
static void says_how_scripts_get_names_once(void **state) {
	(void)state;
	r.intervals.n = 0;
	for (uint16_t i = 0; i < EDGES; i++) {
		add(0, i, REC_NEVER, 1, 200000);
	}
	sample_stacks[0].live_bytes = EDGES * 200000;
	fill_edges();
	become("/usr/bin/python3.11");
	struct findings all = make();
	sample_stacks[0].live_bytes = 0;
	assert_string_equal(all.items[0].id, "growing");
	assert_non_null(strstr(all.items[0].text, "python3.11 via make_row(), for what it runs: grew"));
	assert_non_null(strstr(all.items[0].text,
			"; to name the Python functions behind it, use Python 3.11 to 3.14."));
	for (uint32_t i = 1; i < all.n; i++) {
		assert_null(strstr(all.items[i].text, "to name the"));
	}
}

static void asks_for_no_names_that_are_there(void **state) {
	(void)state;
	struct rec_location *l = &sample_locations[L_X], before = *l;
	*l = (struct rec_location){.pc = 1, .first_frame = 5, .n_frames = 1}; // generated, and named
	become("/opt/node/bin/node");
	const char *text = said("runtime");
	*l = before;
	assert_null(strstr(text, "to name the"));
	assert_non_null(strstr(text, "; its own functions: "));
}

/** A library of the runtime's own is a part of it: what it holds is said apart. */
static void tells_a_runtimes_library_from_its_program(void **state) {
	(void)state;
	struct slice before = sample_strings[S_LIBX];
	sample_stacks[2].peak_bytes = 30000000, sample_stacks[2].peak_blocks = 1;
	r.nodes.items[N_PARSE_X].parent = N_START;
	sample_strings[S_LIBX] = slice_of_text("/opt/jdk/lib/libjava.so");
	become("/opt/jdk/bin/java");
	r.summary.peak_bytes = 46040500;
	const char *text = said("runtime");
	r.nodes.items[N_PARSE_X].parent = N_PARSE;
	sample_stacks[2].peak_bytes = sample_stacks[2].peak_blocks = 0;
	sample_strings[S_LIBX] = before;
	assert_string_equal(text,
			"java holds 46.0 MB (100 % of the peak) for what it runs, 30.0 MB of it in libjava.so; "
			"its own functions: heaptrack_print --bottom-up --lens fold=0.");
}

/** A runtime's threads give blocks to each other; only what a named site made is worth a sentence. */
static void is_silent_about_what_runtimes_hand_over(void **state) {
	(void)state;
	static struct rec_handover h = {.from = 1, .to = 2, .blocks = 5000, .bytes = 50000};
	static struct rec_thread threads[] = {{0}, {.tid = 42, .allocations = 5000}, {.tid = 43}};
	r.handovers.items = &h, r.handovers.n = 1;
	r.threads.items = threads, r.threads.n = 3;
	for (uint32_t i = 0; i < r.stacks.n; i++) {
		r.stacks.items[i].thread = 1;
	}
	become("/home/u/app");
	bool is_said = *said("handed-over");
	sample_strings[S_LIBX] = slice_of_text("/usr/lib/x86_64-linux-gnu/libx.so.1");
	become("/opt/node/bin/node");
	bool is_said_of_node = *said("handed-over");
	for (uint32_t i = 0; i < r.stacks.n; i++) {
		r.stacks.items[i].thread = 0;
	}
	assert_true(is_said);
	assert_false(is_said_of_node);
}

static bool is_reversed; // what qsort gets

/** Stable as glibc's mostly is, and unstable as musl's is: equal items come out the other way round. */
void qsort(void *items, size_t n, size_t bytes, int (*compare)(const void *, const void *));
void qsort(void *items, size_t n, size_t bytes, int (*compare)(const void *, const void *)) {
	unsigned char *at = items, moved[1024];
	assert_true(bytes <= sizeof moved);
	for (size_t i = 1; i < n; i++) {
		size_t k = i;
		memcpy(moved, at + i * bytes, bytes);
		for (; k > 0 && compare(at + (k - 1) * bytes, moved) >= !is_reversed; k--) {
			memcpy(at + k * bytes, at + (k - 1) * bytes, bytes);
		}
		memcpy(at + k * bytes, moved, bytes);
	}
}

static void keeps_the_order_of_equals_under_any_qsort(void **state) {
	(void)state;
	struct findings stable, other;
	static struct rec_child child = {.pid = 7, .name = S_MAIN, .peak_rss_bytes = 1900000};
	r.children.items = &child, r.children.n = 1;
	r.quality.children_executed = 3;
	r.meta.n_images = 2;
	r.summary.peak_rss_bytes = 20000000;
	r.summary.live_bytes = 0;
	stable = findings_make(&r, names, &arena);
	is_reversed = true;
	other = findings_make(&r, names, &arena);
	is_reversed = false;
	uint32_t n_equal = 0;
	assert_int_equal(other.n, stable.n);
	for (uint32_t i = 0; i < stable.n; i++) {
		const struct finding *f = &stable.items[i];
		assert_string_equal(other.items[i].id, f->id);
		n_equal += i > 0 && f[-1].severity == f->severity && f[-1].weight == f->weight;
	}
	assert_true(n_equal > 0);
}

/** A container that each of many processes, or each call, fills anew. */
static void counts_reservations(void **state) {
	(void)state;
	struct rec_stack *s = &r.stacks.items[0];
	struct rec_stack before = *s;
	struct rec_size sizes[8];
	typeof(r.sizes) sizes_before = r.sizes;
	for (uint32_t i = 0; i < 8; i++) {
		sizes[i] = (struct rec_size){.size = 125000u << i, .count = 1, .bytes = 125000u << i};
	}
	r.sizes.items = sizes, r.sizes.n = 8;
	s->allocated_bytes = 125000 * 255;
	struct findings once = make();
	assert_non_null(strstr(find(&once, "peak")->text,
			"from 125.0 kB to 16.0 MB: one reservation saves 7 allocations and 15.9 MB"));
	for (uint32_t i = 0; i < 8; i++) {
		sizes[i].count = 3;
		sizes[i].bytes *= 3;
	}
	s->allocated_bytes *= 3;
	struct findings often = make();
	assert_non_null(strstr(find(&often, "peak")->text,
			"from 125.0 kB to 16.0 MB: one reservation each time saves 21 allocations and 47.6 MB"));
	sizes[7].count = 1; // one grew on
	sizes[7].bytes = sizes[7].size;
	struct findings unlike = make();
	assert_non_null(strstr(find(&unlike, "peak")->text, "one reservation each time saves 21 "));
	*s = before, r.sizes = sizes_before;
}

#define TEST(t) cmocka_unit_test_setup_teardown(t, set_up, tear_down)

int main(void) {
	const struct CMUnitTest tests[] = {
			TEST(explains_the_peak),
			TEST(counts_the_last_bytes_of_a_site),
			TEST(says_how_much_of_the_peak_was_in_memory),
			TEST(says_how_a_leak_grows),
			TEST(puts_the_peak_before_little_churn),
			TEST(tells_an_idle_end_from_a_level),
			TEST(gives_short_runs_no_rate),
			TEST(names_the_library_that_holds_the_peak_for_itself),
			TEST(says_when_a_container_is_full),
			TEST(takes_no_sum_for_the_memory_of_one),
			TEST(says_that_all_was_freed),
			TEST(tells_what_is_held_from_what_is_replaced),
			TEST(says_what_grew_most_where_nothing_grows),
			TEST(says_what_grew_most_beside_what_grows_evenly),
			TEST(says_of_no_burst_that_it_grew),
			TEST(compares_with_the_end_what_is_idle_since),
			TEST(calls_no_growth_what_comes_and_goes),
			TEST(calls_no_growth_what_rises_and_falls),
			TEST(tells_a_start_from_work),
			TEST(says_no_mean_size_of_short_lived_blocks),
			TEST(says_always_only_where_all_sizes_are_known),
			TEST(counts_reservations),
			TEST(is_silent_about_nothing),
			TEST(tells_which_of_a_runtimes_functions_asked),
			TEST(takes_nobody_for_who_asked),
			TEST(says_how_scripts_get_names_once),
			TEST(asks_for_no_names_that_are_there),
			TEST(tells_a_runtimes_library_from_its_program),
			TEST(is_silent_about_what_runtimes_hand_over),
			TEST(keeps_the_order_of_equals_under_any_qsort),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
