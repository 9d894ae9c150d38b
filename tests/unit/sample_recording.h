// SPDX-License-Identifier: MIT
#pragma once

/**
 * A small recording made by hand, for tests of what is computed from recordings. A program /home/u/app
 * with its own functions spike (inlining make_row), parse and main, below std:: and libc frames:
 *
 *   stack 0  main -> spike <- make_row (inlined) -> std::vector -> operator new    peak 16 MB
 *   stack 1  main -> parse -> operator new                     1,000 blocks never freed, 101,000 B
 *   stack 2  main -> parse -> malloc site without a name in libx.so          temporary, 50 calls
 *   stack 3  start-up: libc only                                             one block, 100 B, kept
 */

#include "trace/recording.h"

enum {
	S_NONE,
	S_EXE,
	S_LIBC,
	S_LIBX,
	S_NEW,
	S_VECTOR,
	S_ROW,
	S_SPIKE,
	S_PARSE,
	S_MAIN,
	S_START,
	S_APP_CPP,
	S_VECTOR_H,
	S_ARGV1,
	S_VERSION,
	S_LIBSTDCPP,
	N_STRINGS
};

static const char *const sample_texts[N_STRINGS] = {
		[S_NONE] = "",
		[S_EXE] = "/home/u/app",
		[S_LIBC] = "/usr/lib/x86_64-linux-gnu/libc.so.6",
		[S_LIBX] = "/opt/x/libx.so",
		[S_NEW] = "operator new(unsigned long)",
		[S_VECTOR] = "std::vector<double, std::allocator<double> >::reserve(unsigned long)",
		[S_ROW] = "make_row(int)",
		[S_SPIKE] = "spike(int)",
		[S_PARSE] = "parse(char const*)",
		[S_MAIN] = "main",
		[S_START] = "__libc_start_main_impl",
		[S_APP_CPP] = "/home/u/src/app.cpp",
		[S_VECTOR_H] = "/usr/include/c++/12/bits/vector.tcc",
		[S_ARGV1] = "--fast",
		[S_VERSION] = "test",
		[S_LIBSTDCPP] = "/usr/lib/x86_64-linux-gnu/libstdc++.so.6",
};

enum { L_NONE, L_NEW, L_VECTOR, L_SPIKE, L_PARSE, L_MAIN, L_START, L_X, N_LOCATIONS };
enum { M_NONE, M_EXE, M_LIBC, M_LIBX, M_LIBSTDCPP, N_MODULES };

static struct slice sample_strings[N_STRINGS];

static struct rec_module sample_modules[N_MODULES] = {
		[M_EXE] = {.start = 0x1000, .end = 0x9000, .bias = 0x1000, .path = S_EXE, .image = 1},
		[M_LIBC] = {.start = 0x10000, .end = 0x90000, .bias = 0x10000, .path = S_LIBC, .image = 1},
		[M_LIBX] =
				{.start = 0x100000, .end = 0x900000, .bias = 0x100000, .path = S_LIBX, .image = 1},
		[M_LIBSTDCPP] = {.start = 0xa00000,
				.end = 0xb00000,
				.bias = 0xa00000,
				.path = S_LIBSTDCPP,
				.image = 1},
};

static struct rec_frame sample_frames[] = {
		{S_NEW, S_NONE, S_NONE, 0, S_NONE},         // 0
		{S_VECTOR, S_NONE, S_VECTOR_H, 68, S_NONE}, // 1
		{S_ROW, S_NONE, S_APP_CPP, 12, S_NONE},     // 2, inlined into
		{S_SPIKE, S_NONE, S_APP_CPP, 20, S_NONE},   // 3
		{S_PARSE, S_NONE, S_APP_CPP, 33, S_NONE},   // 4
		{S_MAIN, S_NONE, S_APP_CPP, 50, S_NONE},    // 5
		{S_START, S_NONE, S_NONE, 0, S_NONE},       // 6
};

static struct rec_location sample_locations[N_LOCATIONS] = {
		[L_NEW] = {.pc = 0xa00100, .module = M_LIBSTDCPP, .first_frame = 0, .n_frames = 1},
		[L_VECTOR] = {.pc = 0x1100, .module = M_EXE, .first_frame = 1, .n_frames = 1},
		[L_SPIKE] = {.pc = 0x1200, .module = M_EXE, .first_frame = 2, .n_frames = 2},
		[L_PARSE] = {.pc = 0x1300, .module = M_EXE, .first_frame = 4, .n_frames = 1},
		[L_MAIN] = {.pc = 0x1400, .module = M_EXE, .first_frame = 5, .n_frames = 1},
		[L_START] = {.pc = 0x10100, .module = M_LIBC, .first_frame = 6, .n_frames = 1},
		[L_X] = {.pc = 0x104f21, .module = M_LIBX},
};

enum {
	N_ROOT,
	N_START,
	N_MAIN,
	N_SPIKE,
	N_VECTOR,
	N_NEW,
	N_PARSE,
	N_PARSE_NEW,
	N_PARSE_X,
	N_NODES
};

static struct rec_node sample_nodes[N_NODES] = {
		[N_START] = {N_ROOT, L_START},
		[N_MAIN] = {N_START, L_MAIN},
		[N_SPIKE] = {N_MAIN, L_SPIKE},
		[N_VECTOR] = {N_SPIKE, L_VECTOR},
		[N_NEW] = {N_VECTOR, L_NEW},
		[N_PARSE] = {N_MAIN, L_PARSE},
		[N_PARSE_NEW] = {N_PARSE, L_NEW},
		[N_PARSE_X] = {N_PARSE, L_X},
};

static struct rec_stack sample_stacks[] = {
		{.node = N_NEW,
				.usual_size = 16000000,
				.allocations = 2,
				.allocated_bytes = 32000000,
				.peak_blocks = 1,
				.peak_bytes = 16000000,
				.first_ns = 1000,
				.last_ns = 2000},
		{.node = N_PARSE_NEW,
				.usual_size = 101,
				.allocations = 1500,
				.allocated_bytes = 151500,
				.peak_blocks = 400,
				.peak_bytes = 40400,
				.live_blocks = 1000,
				.live_bytes = 101000,
				.first_ns = 10,
				.last_ns = 900000000},
		{.node = N_PARSE_X,
				.usual_size = 8,
				.allocations = 50,
				.allocated_bytes = 400,
				.temporary = 50,
				.temporary_bytes = 400,
				.short_lived = 50,
				.first_ns = 20,
				.last_ns = 30},
		{.node = N_START,
				.usual_size = 100,
				.allocations = 1,
				.allocated_bytes = 100,
				.peak_blocks = 1,
				.peak_bytes = 100,
				.live_blocks = 1,
				.live_bytes = 100,
				.first_ns = 1,
				.last_ns = 1},
};

static struct recording sample_recording(void) {
	for (int i = 0; i < N_STRINGS; i++) {
		sample_strings[i] = slice_of_text(sample_texts[i]);
	}
	static struct rec_edge edge = {.time_ns = 500000000,
			.end_ns = 1000000000,
			.bytes = 16040500,
			.blocks = 402,
			.allocations = 500,
			.allocated_bytes = 16100000};
	static struct rec_thread threads[2] = {{0}, {.tid = 42, .image = 1}};
	struct recording r = {
			.meta = {.exe = S_EXE,
					.argv_first = S_ARGV1,
					.n_argv = 1,
					.pid = 42,
					.duration_ns = 1000000000,
					.ended = REC_EXITED,
					.is_complete = 1,
					.n_images = 1,
					.version = S_VERSION},
			.summary = {.allocations = 1553,
					.allocated_bytes = 32152000,
					.frees = 552,
					.temporary = 50,
					.short_lived = 50,
					.peak_bytes = 16040500,
					.peak_blocks = 402,
					.peak_time_ns = 500000000,
					.live_bytes = 101100,
					.live_blocks = 1001,
					.peak_rss_bytes = 20000000},
	};
	r.strings.items = sample_strings, r.strings.n = N_STRINGS;
	r.modules.items = sample_modules, r.modules.n = N_MODULES;
	r.locations.items = sample_locations, r.locations.n = N_LOCATIONS;
	r.frames.items = sample_frames, r.frames.n = sizeof sample_frames / sizeof *sample_frames;
	r.nodes.items = sample_nodes, r.nodes.n = N_NODES;
	r.stacks.items = sample_stacks, r.stacks.n = sizeof sample_stacks / sizeof *sample_stacks;
	r.edges.items = &edge, r.edges.n = 1;
	r.mapping_edges.items = &edge, r.mapping_edges.n = 1;
	r.threads.items = threads, r.threads.n = 2;
	return r;
}

/**
 * Two looks at its memory: at the peak of RSS, with all parts, and at the end. What parse() and
 * the C library mapped is in memory at both.
 */
static inline void sample_add_looks(struct recording *r) {
	enum { PAGES = REC_HAS_SIZES | REC_HAS_PAGES, ALL = PAGES | REC_HAS_BLOCKS | REC_HAS_MAKERS };
	static struct rec_mapping mappings[2] = {{.node = N_PARSE}, {.node = N_START}};
	static struct rec_look looks[2] = {
			{.time_ns = 500000000, .rss_bytes = 19000000, .pid = 42, .at = REC_AT_RSS_PEAK},
			{.time_ns = 1000000000, .rss_bytes = 3000000, .pid = 42, .at = REC_AT_END},
	};
	static struct rec_part parts[] = {
			{.resident_bytes = 14000000, .asked_bytes = 16040500, .part = REC_PART_HEAP_LIVE},
			{.resident_bytes = 10000, .part = REC_PART_HEAP_ROUNDING},
			{.resident_bytes = 90000, .part = REC_PART_HEAP_PARTLY_FREE},
			{.resident_bytes = 400000, .lazy_free_bytes = 1000, .part = REC_PART_HEAP_FREE},
			{.resident_bytes = 900000, .mapping = 1, .part = REC_PART_MAPPED},
			{.resident_bytes = 200000, .mapping = 2, .part = REC_PART_MAPPED},
			{.resident_bytes = 100000, .part = REC_PART_MAPPED},
			{.resident_bytes = 80000, .part = REC_PART_STACKS},
			{.resident_bytes = 120000, .name = S_LIBX, .part = REC_PART_MODULES_WRITTEN},
			{.resident_bytes = 2000000, .name = S_EXE, .part = REC_PART_FILES},
			{.resident_bytes = 500000, .name = S_LIBC, .part = REC_PART_FILES},
			{.resident_bytes = 550000, .part = REC_PART_OURS},
			{.resident_bytes = 50000, .part = REC_PART_UNKNOWN},
			{.resident_bytes = 101100, .asked_bytes = 101100, .part = REC_PART_HEAP_LIVE},
			{.resident_bytes = 98900, .part = REC_PART_HEAP_PARTLY_FREE},
			{.resident_bytes = 900000, .mapping = 1, .part = REC_PART_MAPPED},
			{.resident_bytes = 1900000, .name = S_EXE, .part = REC_PART_FILES},
	};
	static struct rec_untouched untouched[] = {
			{.asked_bytes = 16000000, .resident_bytes = 13959500, .stack = 0, .blocks = 1}};
	looks[0].has = looks[1].has = ALL;
	for (size_t i = 13; i < sizeof parts / sizeof *parts; i++) {
		parts[i].look = 1;
	}
	r->mappings.items = mappings, r->mappings.n = 2;
	r->looks.items = looks, r->looks.n = 2;
	r->parts.items = parts, r->parts.n = sizeof parts / sizeof *parts;
	r->untouched.items = untouched, r->untouched.n = 1;
	static struct rec_fullness arenas[] = {{.live_bytes = 14000000,
												   .pages = {100, [4] = 20, [10] = 3500},
												   .kind = REC_ARENA_MAIN},
			{.start = 0x7f12a4000000, .pages = {7}, .look = 1, .kind = REC_ARENA_AT}};
	r->meta.page_bytes = 4096;
	r->fullness.items = arenas, r->fullness.n = 2;
}
