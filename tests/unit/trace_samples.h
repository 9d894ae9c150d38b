// SPDX-License-Identifier: MIT
#pragma once

/**
 * For the tests of the trace file: recordings that are valid by construction, a file in memory that
 * can stop taking bytes at any moment, and comparison of recordings.
 */

#include "base/err.h"
#include "base/slice.h"
#include "trace/trace.h"

#include <stdio.h>
#include <stdlib.h>

static inline uint64_t sample_random(uint64_t *state) {
	uint64_t z = (*state += 0x9E3779B97F4A7C15ull);
	z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9ull;
	z = (z ^ z >> 27) * 0x94D049BB133111EBull;
	return z ^ z >> 31;
}

/** 0 .. n - 1, small ones often. */
static inline uint64_t sample_below(uint64_t *state, uint64_t n) {
	uint64_t a = sample_random(state) % n;
	uint64_t b = sample_random(state) % n;
	return a < b ? a : b;
}

// ---- recordings

/**
 * How much of everything. Two samples of one seed agree in the log tables as far as both go, so a
 * sample with more nodes and frames can be the later state of one with fewer.
 */
struct sample_size {
	uint32_t nodes, frames, stacks, edges, blocks;
};

#define SAMPLE_ROWS(r, table, count)   \
	((r)->table.n = (uint32_t)(count), \
			(r)->table.items = arena_alloc(&(r)->arena, (count), sizeof *(r)->table.items))

static inline uint64_t sample_hash(uint64_t seed, uint64_t table, uint64_t row) {
	uint64_t state = seed * 31 + table * 1000003 + row;
	(void)sample_random(&state);
	return sample_random(&state);
}

static inline void sample_strings(struct recording *r, uint64_t seed, uint32_t n) {
	SAMPLE_ROWS(r, strings, n);
	r->strings.items[0] = slice_of("", 0);
	for (uint32_t i = 1; i < n; i++) {
		uint64_t h = sample_hash(seed, 1, i);
		char text[64];
		int size = snprintf(text, sizeof text, "std::name_%u<%x>", i, (unsigned)(h & 0xffff));
		size = h % 11 == 0 ? 0 : size;
		r->strings.items[i] = slice_of(arena_text(&r->arena, slice_of(text, (size_t)size)),
				(size_t)size);
	}
}

// Location i refers to modules 0 .. 3; it is named once its two frames are there
static inline void sample_log(struct recording *r, uint64_t seed, const struct sample_size *size) {
	uint32_t n_locations = size->nodes / 2 + 1;
	sample_strings(r, seed, 8 + size->frames);
	SAMPLE_ROWS(r, locations, n_locations);
	for (uint32_t i = 1; i < n_locations; i++) {
		struct rec_location *l = &r->locations.items[i];
		uint64_t h = sample_hash(seed, 2, i);
		l->module = h % 4;
		l->pc = h % 17 == 0 ? h : (uint64_t)l->module << 44 | (h >> 40);
		l->is_exact = h % 13 == 0;
		l->is_mark = h % 29 == 0;
		if (i * 2 + 1 < size->frames) {
			l->first_frame = i * 2;
			l->n_frames = 1 + h % 2;
		}
	}
	SAMPLE_ROWS(r, frames, size->frames);
	for (uint32_t i = 0; i < size->frames; i++) {
		struct rec_frame *f = &r->frames.items[i];
		uint64_t h = sample_hash(seed, 3, i);
		f->function = (uint32_t)(h % (8 + i));
		f->symbol = h % 3 ? f->function / 2 : 0;
		f->file = (uint32_t)(h >> 32) % (8 + i);
		f->line = h % 5 ? (uint32_t)(h >> 50) : 0;
	}
	SAMPLE_ROWS(r, nodes, size->nodes);
	for (uint32_t i = 1; i < size->nodes; i++) {
		uint64_t h = sample_hash(seed, 4, i);
		r->nodes.items[i].parent = h % 3 ? i - 1 : (uint32_t)(h >> 20) % i;
		r->nodes.items[i].location = (uint32_t)(h >> 32) % (i / 2 + 1);
	}
}

static inline void sample_meta(struct recording *r, uint64_t *random) {
	struct rec_meta *m = &r->meta;
	*m = (struct rec_meta){.exe = 1,
			.cwd = 2,
			.host = 3,
			.version = 4,
			.argv_first = 1,
			.n_argv = 3,
			.pid = 4711,
			.n_cpus = 2,
			.page_bytes = 4096,
			.system_memory_bytes = 1ull << 36,
			.wall_start_ns = 1700000000ull * 1000000000,
			.duration_ns = sample_random(random) >> 20,
			.written_ns = sample_random(random) >> 20,
			.source = REC_ATTACHED,
			.ended = REC_SIGNALED,
			.is_complete = 1,
			.has_free_stacks = 1,
			.exit_status = -7,
			.end_reason = REC_END_LIMIT,
			.end_limit = 60,
			.n_images = 2};
	r->quality = (struct rec_quality){.lost_events = 1,
			.truncated_stacks = 2,
			.abandoned_hooks = 3,
			.skipped_numbers = 4,
			.unknown_frees = 5,
			.double_allocations = 6,
			.time_corrections = 7,
			.children_forked = 8,
			.children_executed = 9,
			.detail_ends_ns = 10,
			.events_dropped = 11,
			.clock_is_not_tsc = 1,
			.recording_stopped_early = 1,
			.stopped_ns = 12};
}

static inline void sample_around(struct recording *r, uint64_t *random) {
	SAMPLE_ROWS(r, modules, 4);
	for (uint32_t i = 1; i < 4; i++) {
		struct rec_module *m = &r->modules.items[i];
		m->start = (uint64_t)i << 44;
		m->end = m->start + (sample_random(random) >> 40);
		m->bias = m->start - 4096;
		m->path = i;
		m->image = 1 + i % 2;
		m->build_id_bytes = i == 2 ? 0 : (uint8_t)(16 + i);
		for (uint32_t k = 0; k < m->build_id_bytes; k++) {
			m->build_id[k] = (uint8_t)sample_random(random);
		}
		m->has_symbols = 1;
		m->is_unresolved = i == 2;
	}
	SAMPLE_ROWS(r, images, 2);
	r->images.items[0].exe = 1;
	r->images.items[1].exe = 2;
	r->images.items[1].time_ns = 77;
	r->images.items[1].is_unrecorded = 1;
	SAMPLE_ROWS(r, marks, 2);
	r->marks.items[0] = (struct rec_mark){.time_ns = 5, .name = 2};
	r->marks.items[1] = (struct rec_mark){.time_ns = 1000000, .name = 1};
	SAMPLE_ROWS(r, allocators, 2);
	r->allocators.items[0] = (struct rec_allocator){.module = 1, .functions = 2, .n_functions = 7};
	r->allocators.items[1] = (struct rec_allocator){.module = 2,
			.functions = 1,
			.why = 3,
			.n_functions = 1};
	SAMPLE_ROWS(r, samples, 20);
	for (uint32_t i = 0; i < 20; i++) {
		struct rec_sample *s = &r->samples.items[i];
		s->time_ns = i * 100000000ull;
		s->rss_bytes = sample_random(random) >> 30;
		s->rss_anon_bytes = s->rss_bytes / 2;
		s->ours_bytes = 1 << 20;
		s->heap_bytes = s->rss_bytes / 3;
		s->minor_faults = i * 5;
		s->pss_bytes = i % 3 ? 0 : s->rss_bytes / 5;
		s->n_threads = 1 + i;
	}
	SAMPLE_ROWS(r, children, 2);
	r->children.items[0].pid = 5000;
	r->children.items[0].name = 3;
	r->children.items[0].exe = 4;
	r->children.items[0].is_fork = 1;
	r->children.items[1].peak_rss_bytes = 1ull << 33;
}

struct sample_block {
	uint32_t stack;
	uint16_t from, until;
	bool is_temporary;
	uint64_t size;
};

// A block as its own interval and size, and in the sums of its stack and of the whole
static inline void sample_count(struct recording *r, const struct sample_block *b, uint32_t i) {
	struct rec_stack *s = &r->stacks.items[b->stack];
	bool is_never = b->until == REC_NEVER;
	s->usual_size = s->allocations ? s->usual_size : (uint32_t)b->size;
	s->allocations++;
	s->allocated_bytes += b->size;
	s->temporary += b->is_temporary;
	s->temporary_bytes += b->is_temporary ? b->size : 0;
	s->short_lived += b->is_temporary;
	s->live_blocks += is_never;
	s->live_bytes += is_never ? b->size : 0;
	r->lifetimes.items[b->stack].blocks[i % 16] += !is_never;
	s->last_ns = i + 1000;
	r->summary.allocations++;
	r->summary.allocated_bytes += b->size;
	r->summary.temporary += b->is_temporary;
	r->summary.short_lived += b->is_temporary;
	bool is_gone = !is_never && i % 11 == 0;
	s->reallocs += i % 5 == 0;
	r->summary.reallocs += i % 5 == 0;
	r->summary.frees += !is_never && !is_gone;
	r->summary.gone_at_exec += is_gone;
	r->summary.gone_at_exec_bytes += is_gone ? b->size : 0;
	r->summary.live_blocks += is_never;
	r->summary.live_bytes += is_never ? b->size : 0;
	const struct rec_interval v = {
			.stack = b->stack,
			.from = b->from,
			.until = b->until,
			.count = 1,
			.temporary = b->is_temporary,
			.bytes = b->size,
	};
	check(recording_set_interval(r, i, &v));
	for (uint32_t k = b->from; k < b->until && k < r->edges.n; k++) {
		r->edges.items[k].bytes += b->size;
		r->edges.items[k].blocks++;
	}
}

static inline void sample_peak(struct recording *r) {
	uint32_t peak = 0;
	for (uint32_t k = 1; k < r->edges.n; k++) {
		peak = r->edges.items[k].bytes > r->edges.items[peak].bytes ? k : peak;
	}
	r->summary.peak_bytes = r->edges.items[peak].bytes;
	r->summary.peak_blocks = r->edges.items[peak].blocks;
	r->summary.peak_time_ns = r->edges.items[peak].time_ns;
	r->summary.peak_low_bytes = r->summary.peak_bytes / 2;
	r->summary.peak_high_bytes = r->summary.peak_bytes + 5;
	for (uint32_t i = 0; i < r->intervals.n; i++) {
		const struct rec_interval v = recording_interval(r, i);
		if (v.from <= peak && peak < v.until) {
			r->stacks.items[v.stack].peak_blocks += v.count;
			r->stacks.items[v.stack].peak_bytes += v.bytes;
		}
	}
}

static inline int sample_by_size(const void *a, const void *b) {
	const struct rec_size *x = a;
	const struct rec_size *y = b;
	int by_stack = (x->stack > y->stack) - (x->stack < y->stack);
	return by_stack ? by_stack : (x->size > y->size) - (x->size < y->size);
}

static inline void sample_state(struct recording *r, uint64_t *random,
		const struct sample_size *size) {
	SAMPLE_ROWS(r, stacks, size->stacks);
	SAMPLE_ROWS(r, lifetimes, size->stacks);
	for (uint32_t i = 0; i < size->stacks; i++) {
		r->stacks.items[i].node = size->nodes - 1 - i;
		r->stacks.items[i].first_ns = i;
		r->stacks.items[i].last_ns = i;
	}
	SAMPLE_ROWS(r, edges, size->edges);
	for (uint32_t k = 0; k < size->edges; k++) {
		r->edges.items[k].time_ns = k * 1000000ull + sample_random(random) % 1000000;
		r->edges.items[k].end_ns = (k + 1) * 1000000ull;
	}
	SAMPLE_ROWS(r, curve, size->edges * 2);
	for (uint32_t k = 0; k < r->curve.n; k++) {
		// Draws nothing: the golden files were made before there was a curve
		r->curve.items[k].time_ns = k * 500000ull + k * 7919ull % 500000;
		r->curve.items[k].end_ns = (k + 1) * 500000ull;
	}
	uint32_t n = size->stacks ? size->blocks : 0;
	SAMPLE_ROWS(r, intervals, n);
	SAMPLE_ROWS(r, sizes, n);
	uint32_t stack = 0;
	for (uint32_t i = 0; i < n; i++) {
		stack += i % (n / size->stacks + 1) == n / size->stacks;
		struct sample_block b = {.stack = stack};
		b.from = (uint16_t)sample_below(random, size->edges);
		b.until = (uint16_t)(b.from + sample_below(random, size->edges + 1u - b.from));
		b.until = sample_random(random) % 7 == 0 && b.from < size->edges ? REC_NEVER : b.until;
		b.is_temporary = b.until == b.from;
		b.size = sample_random(random) % 3 ? 64 + stack : sample_random(random) >> 44;
		sample_count(r, &b, i);
		struct rec_size *row = &r->sizes.items[i];
		row->stack = stack;
		row->size = row->bytes = b.size;
		row->count = 1;
		row->live = b.until == REC_NEVER;
	}
	if (n) {
		qsort(r->sizes.items, n, sizeof *r->sizes.items, sample_by_size);
	}
	sample_peak(r);
	r->summary.failed = 3;
	r->summary.peak_rss_bytes = sample_random(random);
	r->summary.peak_rss_time_ns = 12345;
	r->summary.minor_faults = 1000;
	r->summary.major_faults = 10;
	r->summary.user_cpu_ns = sample_random(random) >> 30;
	r->summary.system_cpu_ns = 5;
	SAMPLE_ROWS(r, threads, 3);
	r->threads.items[1].tid = 4711;
	r->threads.items[1].image = 1;
	r->threads.items[1].name = 5;
	r->threads.items[1].last_ns = 99;
	r->threads.items[1].allocations = r->summary.allocations;
	r->threads.items[1].allocated_bytes = r->summary.allocated_bytes;
	r->threads.items[2].tid = 4712;
	r->threads.items[2].image = 2;
	r->threads.items[2].frees = r->summary.frees;
	r->threads.items[2].n_merged = 12;
	SAMPLE_ROWS(r, handovers, 1);
	r->handovers.items[0].from = 1;
	r->handovers.items[0].to = 2;
	r->handovers.items[0].blocks = r->summary.frees;
	r->handovers.items[0].bytes = 1ull << 40;
}

/** Of two stacks: 4 pages, of which the last goes, and one page for a time; and 2 pages. */
static inline void sample_mappings(struct recording *r, const struct sample_size *size) {
	enum { P = 4096 };
	if (size->nodes < 3) {
		return;
	}
	SAMPLE_ROWS(r, mappings, 2);
	r->mappings.items[0] = (struct rec_mapping){1, 0, 0, 2, 5 * P, 1, 4 * P, 1, 3 * P, 10, 90};
	r->mappings.items[1] = (struct rec_mapping){2, 0, 1, 1, 2 * P, 1, 2 * P, 0, 0, 20, 20};
	SAMPLE_ROWS(r, mapping_edges, 2);
	r->mapping_edges.items[0] = (struct rec_edge){.time_ns = 30,
			.end_ns = 100,
			.bytes = 6 * P,
			.blocks = 2,
			.allocations = 2,
			.allocated_bytes = 6 * P};
	r->mapping_edges.items[1] = (struct rec_edge){.time_ns = 110,
			.end_ns = 200,
			.bytes = 5 * P,
			.blocks = 2,
			.min_bytes = 4 * P,
			.allocations = 3,
			.allocated_bytes = 7 * P};
	SAMPLE_ROWS(r, mapping_intervals, 4);
	r->mapping_intervals.items[0] = (struct rec_interval){0, 0, 2, 0, 0, P};
	r->mapping_intervals.items[1] = (struct rec_interval){0, 0, REC_NEVER, 1, 0, 3 * P};
	r->mapping_intervals.items[2] = (struct rec_interval){0, 1, 2, 1, 0, P};
	r->mapping_intervals.items[3] = (struct rec_interval){1, 0, 1, 1, 0, 2 * P};
	SAMPLE_ROWS(r, ranges, 1);
	r->ranges.items[0] = (struct rec_range){1ull << 44, (1ull << 44) + 3 * P, 10, 0, 3};
	SAMPLE_ROWS(r, changes, 2);
	r->changes.items[0] = (struct rec_change){1, 1, 0, 3, 5 * P, 40, 80};
	r->changes.items[1] = (struct rec_change){2, 4, 1, 1, P, 50, 50};
	r->summary.mapped_peak_bytes = 6 * P;
	r->summary.mapped_peak_time_ns = 30;
	r->summary.never_unmapped_bytes = 3 * P;
}

/** nodes > stacks; edges > 0. The log depends on `seed` alone, the rest on `state_seed` as well. */
static inline void sample_recording_make(struct recording *out, uint64_t seed, uint64_t state_seed,
		const struct sample_size *size) {
	*out = (struct recording){0};
	sample_log(out, seed, size);
	uint64_t random = state_seed;
	sample_meta(out, &random);
	sample_around(out, &random);
	sample_state(out, &random, size);
	sample_mappings(out, size);
}

// ---- comparison

static inline bool sample_same_strings(const struct recording *a, const struct recording *b) {
	for (uint32_t i = 0; i < a->strings.n; i++) {
		if (!slice_equal(a->strings.items[i], b->strings.items[i])) {
			return false;
		}
	}
	return true;
}

#define SAMPLE_SAME(a, b, table)                               \
	((a)->table.n == (b)->table.n &&                           \
			((a)->table.n == 0 ||                              \
					memcmp((a)->table.items, (b)->table.items, \
							(a)->table.n * sizeof *(a)->table.items) == 0))

/** The name of the first table that differs, or NULL. */
static inline const char *sample_difference(const struct recording *a, const struct recording *b) {
	bool same_strings = a->strings.n == b->strings.n && sample_same_strings(a, b);
	return memcmp(&a->meta, &b->meta, sizeof a->meta)             ? "meta"
			: memcmp(&a->summary, &b->summary, sizeof a->summary) ? "summary"
			: memcmp(&a->quality, &b->quality, sizeof a->quality) ? "quality"
			: !same_strings                                       ? "strings"
			: !SAMPLE_SAME(a, b, modules)                         ? "modules"
			: !SAMPLE_SAME(a, b, locations)                       ? "locations"
			: !SAMPLE_SAME(a, b, frames)                          ? "frames"
			: !SAMPLE_SAME(a, b, nodes)                           ? "nodes"
			: !SAMPLE_SAME(a, b, stacks)                          ? "stacks"
			: !SAMPLE_SAME(a, b, lifetimes)                       ? "lifetimes"
			: !SAMPLE_SAME(a, b, edges)                           ? "edges"
			: !SAMPLE_SAME(a, b, curve)                           ? "curve"
			: !SAMPLE_SAME(a, b, intervals)                       ? "intervals"
			: !SAMPLE_SAME(a, b, wide)                            ? "wide intervals"
			: !SAMPLE_SAME(a, b, sizes)                           ? "sizes"
			: !SAMPLE_SAME(a, b, threads)                         ? "threads"
			: !SAMPLE_SAME(a, b, handovers)                       ? "handovers"
			: !SAMPLE_SAME(a, b, samples)                         ? "samples"
			: !SAMPLE_SAME(a, b, children)                        ? "children"
			: !SAMPLE_SAME(a, b, images)                          ? "images"
			: !SAMPLE_SAME(a, b, marks)                           ? "marks"
			: !SAMPLE_SAME(a, b, allocators)                      ? "allocators"
																  : NULL;
}

// ---- a file in memory

struct sample_file {
	struct buffer bytes;
	uint64_t n_written;  // by all writes together
	uint64_t stop_after; // 0: never. Then the write is cut there, and it and all later ones fail
	uint64_t n_writes;
	uint64_t fail_write; // 0: none. The number of the write that fails whole, from 1
	void (*after_write)(void *user, const struct sample_file *file);
	void *user;
};

static inline bool sample_file_store(struct sample_file *f, uint64_t at, const void *data,
		size_t n) {
	if (at + n > f->bytes.size) {
		size_t more = at + n - f->bytes.size;
		uint8_t *room = buffer_room(&f->bytes, more);
		if (!room) {
			return false;
		}
		memset(room, 0, more);
		f->bytes.size += more;
	}
	memcpy(f->bytes.data + at, data, n);
	return true;
}

static inline bool sample_file_write(void *user, uint64_t at, const void *data, size_t n,
		struct err *err) {
	struct sample_file *f = user;
	size_t want = n;
	if (++f->n_writes == f->fail_write) {
		return err_set(err, ERR_SYSTEM, "no space left");
	}
	if (f->stop_after && n > f->stop_after - f->n_written) {
		// Eight aligned bytes arrive whole or not at all
		n = n == 8 ? 0 : f->stop_after - f->n_written;
	}
	f->n_written = n < want ? f->stop_after : f->n_written + n;
	if (n && !sample_file_store(f, at, data, n)) {
		return err_memory(err);
	}
	if (f->after_write) {
		f->after_write(f->user, f);
	}
	return n == want || err_set(err, ERR_SYSTEM, "killed");
}

static inline struct trace_sink sample_file_sink(struct sample_file *f) {
	return (struct trace_sink){sample_file_write, f};
}

static inline bool sample_bytes_read(void *user, uint64_t at, void *out, size_t n, size_t *got,
		struct err *err) {
	(void)err;
	const struct slice *bytes = user;
	size_t left = at < bytes->size ? bytes->size - (size_t)at : 0;
	*got = n < left ? n : left;
	if (*got) {
		memcpy(out, bytes->data + at, *got);
	}
	return true;
}

/** `bytes` must outlive the source. */
static inline struct trace_source sample_source(struct slice *bytes) {
	return (struct trace_source){sample_bytes_read, bytes->size, bytes};
}

static inline bool sample_file_read(void *user, uint64_t at, void *out, size_t n, size_t *got,
		struct err *err) {
	struct sample_file *f = user;
	struct slice now = buffer_view(&f->bytes);
	return sample_bytes_read(&now, at, out, n, got, err);
}

/** The file as it is at the moment of each reading. */
static inline struct trace_source sample_file_source(struct sample_file *f) {
	return (struct trace_source){sample_file_read, f->bytes.size, f};
}
